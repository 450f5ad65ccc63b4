#include "perfuse/core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "perfuse/core/log.h"
#include "tests/support/scratch.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::message_of;
using test::ScratchFolder;
using test::slurp;

std::string text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// Each of the three ways to open must say the same of what is not a readable regular file.
void expect_unreadable(const fs::path& file, std::string_view why) {
  const std::string map = message_of(ErrorKind::io, [&] { (void)MappedFile::open(file); });
  const std::string read = message_of(ErrorKind::io, [&] { (void)read_file(file, 100); });
  EXPECT_TRUE(contains(map, file.string() + ": ")) << map;
  EXPECT_TRUE(contains(map, why)) << map;
  EXPECT_EQ(map, read);
}

TEST(MappedFile, HasTheFilesBytes) {
  const ScratchFolder folder;
  const auto file = MappedFile::open(folder.write("a", "hello"));
  EXPECT_EQ(text_of(*file), "hello");
  EXPECT_EQ(file->path(), folder / "a");
  EXPECT_EQ(text_of(*MappedFile::open(folder.write("empty", ""))), "");
}

TEST(MappedFile, AdviceKeepsTheContent) {
  const ScratchFolder folder;
  std::string content(3 * 4096 + 100, 'x');
  content[5000] = 'y';
  const auto file = MappedFile::open(folder.write("a", content));
  for (const auto& [begin, size] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
           {0, content.size()}, {4096, 4096}, {1, 10}, {5000, 7388}, {4096 * 3, 100}, {0, 0}}) {
    file->dont_need(file->bytes().subspan(begin, size));
    EXPECT_EQ(text_of(*file), content);
  }
  const auto empty = MappedFile::open(folder.write("empty", ""));
  empty->dont_need(empty->bytes());
}

// mmap on file systems that refuse shared maps, or all maps of files.
void* no_shared_map(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  if ((flags & MAP_SHARED) == 0) return ::mmap(address, length, protection, flags, fd, offset);
  errno = ENODEV;
  return MAP_FAILED;
}
void* no_map(void*, std::size_t, int, int, int, off_t) {
  errno = ENODEV;
  return MAP_FAILED;
}
void* no_memory(void*, std::size_t, int, int, int, off_t) {
  errno = ENOMEM;
  return MAP_FAILED;
}

TEST(MappedFile, ReadsWhatCannotBeMapped) {
  const ScratchFolder folder;
  std::string content(3 * 4096 + 100, 'x');
  content[5000] = 'y';
  const auto path = folder.write("a", content);
  std::vector<std::string> said;
  const auto level = log::level();
  log::set_level(log::Level::info);
  log::set_sink([&](log::Level, std::string_view message) { said.emplace_back(message); });
  for (const auto map : {no_shared_map, no_map}) {
    const auto file = MappedFile::open(path, map);
    EXPECT_EQ(text_of(*file), content);
    file->dont_need(file->bytes());
    EXPECT_EQ(text_of(*file), content);
    EXPECT_EQ(text_of(*MappedFile::open(folder.write("empty", ""), map)), "");
  }
  log::set_sink({});
  log::set_level(level);
  ASSERT_EQ(said.size(), 1u);  // of the copy, not of the private map
  EXPECT_TRUE(contains(said[0], path.string())) << said[0];
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { (void)MappedFile::open(path, no_memory); }), "memory"));
}

std::size_t resident_file_pages() {
  std::ifstream in("/proc/self/statm");
  std::size_t size = 0, resident = 0, shared = 0;
  in >> size >> resident >> shared;
  return shared;
}

TEST(MappedFile, DontNeedLowersResidentMemory) {
  const ScratchFolder folder;
  const auto file = MappedFile::open(folder.write("big", std::string(8 << 20, 'x')));
  std::size_t sum = 0;
  for (const auto byte : file->bytes()) sum += std::to_integer<std::size_t>(byte);
  EXPECT_EQ(sum, std::size_t{8 << 20} * 'x');
  const auto before = resident_file_pages();
  file->dont_need(file->bytes());
  EXPECT_LE(resident_file_pages() + 2000, before);  // of 2048 pages
}

TEST(Reading, RefusesWhatIsNoRegularFile) {
  const ScratchFolder folder;
  expect_unreadable(folder / "absent", "no such file");
  expect_unreadable(folder / "absent/x", "no such file");
  expect_unreadable(folder.write("f", "") / "x", "a part of its path is not a folder");
  expect_unreadable(folder.path(), "is a folder, expected a regular file");
  expect_unreadable("/dev/null", "is a device, expected a regular file");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  expect_unreadable(folder / "fifo", "is a FIFO, expected a regular file");  // would block, if opened plainly
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  expect_unreadable(folder / "a", "its symbolic links form a loop");
}

TEST(Reading, TakesLinksAndFilesWithoutASize) {
  const ScratchFolder folder;
  folder.write("a", "hello");
  fs::create_symlink("a", folder / "link");
  EXPECT_EQ(read_file(folder / "link", 5), "hello");
  EXPECT_TRUE(read_file("/proc/self/status", 1 << 20).starts_with("Name:"));
  EXPECT_EQ(read_file(folder.write("nul", std::string_view("a\0b", 3)), 5), std::string("a\0b", 3));
}

TEST(Reading, NamesTheLimit) {
  const ScratchFolder folder;
  EXPECT_EQ(
      message_of(ErrorKind::io, [&] { (void)read_file(folder.write("a", std::string(2500, 'x')), 1000); }),
      (folder / "a").string() + ": has 2.5 KB, expected at most 1 KB");
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [] { (void)read_file("/proc/self/status", 10); }),
                       "goes on past its size, expected at most 10 bytes"));
  // 1 TB without a block on the disk: refused by its size, not read.
  fs::resize_file(folder.write("sparse", ""), std::uintmax_t{1} << 40);
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { (void)read_file(folder / "sparse", 1 << 20); }), "1.1 TB"));
}

TEST(Writing, ReplacesAndLeavesNothingElse) {
  const ScratchFolder folder;
  write_file(folder / "a", std::string_view("one"));
  write_file(folder / "a", std::string_view("two"));
  write_file(folder / "empty", std::string_view());
  EXPECT_EQ(slurp(folder / "a"), "two");
  EXPECT_EQ(slurp(folder / "empty"), "");
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(Writing, KeepsTheModeAndFollowsLinks) {
  const ScratchFolder folder;
  folder.write("a", "old");
  fs::permissions(folder / "a", fs::perms(0640));
  fs::create_symlink("a", folder / "link");
  write_file(folder / "link", std::string_view("new"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(slurp(folder / "a"), "new");
  EXPECT_EQ(fs::status(folder / "a").permissions(), fs::perms(0640));
  fs::create_symlink("fresh", folder / "dangling");
  write_file(folder / "dangling", std::string_view("made"));
  EXPECT_EQ(slurp(folder / "fresh"), "made");
  const mode_t mask = ::umask(0027);
  write_file(folder / "masked", std::string_view("x"));
  ::umask(mask);
  EXPECT_EQ(fs::status(folder / "masked").permissions(), fs::perms(0640));
}

TEST(Writing, RefusesWhatCantBeWritten) {
  const ScratchFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  const fs::path too_long = folder / std::string(300, 'x');
  const std::pair<fs::path, std::string> cases[] = {
      {folder.path(), "it is a folder"},
      {folder / "no/such", "its folder " + (folder / "no").string() + " does not exist"},
      {folder / "new/", "it is a folder"},
      {folder.write("f", "x") / "y", "a part of its path is not a folder"},
      {folder / "a", "its symbolic links form a loop"},
      {too_long, "File name too long"},
      {"/proc/perfuse", "/proc/perfuse: can't be written: "},  // nobody, root included, makes files there
      {"/dev/fd/999", "/dev/fd/999: can't be written: "},
      {"", "name of the file to write is empty"},
  };
  for (const auto& [file, why] : cases) {
    const auto written = message_of(ErrorKind::io, [&] { write_file(file, std::string_view("x")); });
    const auto checked = message_of(ErrorKind::io, [&] { check_writable(file); });
    EXPECT_TRUE(contains(written, why)) << file;
    EXPECT_EQ(written, checked);
  }
  EXPECT_EQ(folder.entries(), 3u);
}

TEST(Writing, FullDisk) {
  EXPECT_EQ(message_of(ErrorKind::io, [] { write_file("/dev/full", std::string_view("x")); }),
            "/dev/full: can't be written: the disk is full");
}

TEST(Writing, WritesInPlaceWhatIsNoRegularFile) {
  const ScratchFolder folder;
  write_file("/dev/null", std::string_view("x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(message_of(ErrorKind::io, [&] { write_file(folder / "fifo", std::string_view("x")); }),
            (folder / "fifo").string() + ": can't be written: nobody reads the other end");
  const int reader = ::open((folder / "fifo").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file(folder / "fifo", std::string_view("through"));
  std::array<char, 16> got{};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  EXPECT_STREQ(got.data(), "through");
  ::close(reader);
}

TEST(Writing, StandardOutputIsADescriptor) {
  const ScratchFolder folder;
  const int fd = ::open(folder.write("out", "first ").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  check_writable(name);
  write_file(name, std::string_view("second"));
  ::close(fd);
  EXPECT_EQ(slurp(folder / "out"), "first second");  // not replaced, not cut
  ::testing::internal::CaptureStdout();
  write_file("/dev/stdout", std::string_view("printed"));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "printed");
  const int input = ::open((folder / "out").c_str(), O_RDONLY);
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { check_writable("/dev/fd/" + std::to_string(input)); }),
                       "no permission"));
  ::close(input);
}

TEST(AtomicFile, NothingAppearsWithoutCommit) {
  const ScratchFolder folder;
  folder.write("a", "old");
  {
    AtomicFile a(folder / "a"), b(folder / "b");
    a.write(std::as_bytes(std::span("new", 3)));
    b.write(std::as_bytes(std::span("new", 3)));
    EXPECT_EQ(slurp(folder / "a"), "old");
    EXPECT_FALSE(fs::exists(folder / "b"));
  }
  EXPECT_EQ(slurp(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, PiecesBecomeOneFile) {
  const ScratchFolder folder;
  AtomicFile file(folder / "a");
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece(static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
    file.write(std::as_bytes(std::span(piece)));
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(slurp(folder / "a"), expected);
}

TEST(AtomicFile, AFailedReplacementKeepsTheOldFile) {
  const ScratchFolder folder;
  const fs::path file = folder.write("sub/a", "old");
  AtomicFile replacement(file);
  replacement.write(std::as_bytes(std::span("new", 3)));
  fs::rename(folder / "sub", folder / "moved");  // the folder goes away while the work is on
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { replacement.commit(); }), "sub/a: can't be written: "));
  EXPECT_EQ(slurp(folder / "moved/a"), "old");
}

TEST(AtomicFile, ManyWritersLeaveOneWholeFile) {
  const ScratchFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) write_file(folder / "a", std::string(50'000, static_cast<char>('a' + t)));
    });
  for (auto& thread : threads) thread.join();
  const std::string content = slurp(folder / "a");
  EXPECT_EQ(content, std::string(50'000, content.at(0)));
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Reading, ABrokenLinkIsNamedWithItsTarget) {
  const ScratchFolder folder;
  fs::create_symlink("../blobs/abc", folder / "weights");
  expect_unreadable(folder / "weights",
                    "a link to ../blobs/abc, which does not exist; download the model again");
  fs::create_symlink("weights", folder / "link");  // of two, the one that breaks
  EXPECT_EQ(broken_link_target(folder / "link"), "../blobs/abc");
  fs::create_symlink("nowhere", folder / "other");
  expect_unreadable(folder / "other", "a link to nowhere, which does not exist; mend the link");
  expect_unreadable(folder / "absent", "no such file");
  EXPECT_EQ(broken_link_target(folder.write("file", "")), std::nullopt);
  fs::create_symlink("file", folder / "whole");
  EXPECT_EQ(broken_link_target(folder / "whole"), std::nullopt);
  fs::create_symlink("loop", folder / "loop");
  EXPECT_EQ(broken_link_target(folder / "loop"), std::nullopt);
}

TEST(NewFile, ReplacesNothing) {
  const ScratchFolder folder;
  folder.write("1", "mine");
  fs::create_symlink("nowhere", folder / "2");
  fs::create_directory(folder / "3");
  const auto name = [&](std::size_t number) { return folder / std::to_string(number); };
  const std::string text = "new";
  EXPECT_EQ(write_new_file(name, std::as_bytes(std::span(text))), folder / "4");
  EXPECT_EQ(slurp(folder / "4"), "new");
  EXPECT_EQ(slurp(folder / "1"), "mine");
  EXPECT_EQ(folder.entries(), 4u);
  const auto absent = [&](std::size_t) { return folder / "absent/a"; };
  EXPECT_TRUE(contains(
      message_of(ErrorKind::io, [&] { (void)write_new_file(absent, std::as_bytes(std::span(text))); }),
      "its folder"));
}

TEST(NewFile, ManyWritersKeepEveryFile) {
  const ScratchFolder folder;
  std::array<std::thread, 8> writers;
  for (auto& writer : writers)
    writer = std::thread([&] {
      for (int i = 0; i < 20; ++i) {
        const std::string text(5000, 'x');
        (void)write_new_file([&](std::size_t number) { return folder / std::to_string(number); },
                             std::as_bytes(std::span(text)));
      }
    });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(folder.entries(), 160u);
  for (const auto& file : fs::directory_iterator(folder.path())) EXPECT_EQ(fs::file_size(file), 5000u);
}

TEST(CheckWritable, LeavesTheFileAndTheFolderAlone) {
  const ScratchFolder folder;
  folder.write("a", "old");
  check_writable(folder / "a");
  check_writable(folder / "new");
  check_writable("/dev/null");
  EXPECT_EQ(slurp(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(Display, QuotesWhatWouldBreakALine) {
  EXPECT_EQ(display("models/é/config.json"), "models/é/config.json");
  EXPECT_EQ(display("a\nb"), R"("a\nb")");
  EXPECT_EQ(display("a\xff"), R"("a\xff")");
}

}  // namespace
}  // namespace perfuse
