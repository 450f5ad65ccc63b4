#include "perfuse/core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file_descriptor.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_read(const fs::path& file, int error) {
  if (error == ENOENT)
    if (const auto target = broken_link_target(file))
      fail(ErrorKind::io, "{}: a link to {}, which does not exist; {}", display(file), display(*target),
           target->parent_path().filename() == "blobs" ? "download the model again" : "mend the link");
  fail(ErrorKind::io, "{}: can't be read: {}", display(file), describe_errno(error));
}

std::string_view kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// O_NONBLOCK: a FIFO without a writer would wait for one. It means nothing to a regular file.
FileDescriptor open_regular(const fs::path& file, struct stat& status) {
  FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  const int error = errno;
  const bool known = fd.get() >= 0 ? ::fstat(fd.get(), &status) == 0 : ::stat(file.c_str(), &status) == 0;
  if (known && !S_ISREG(status.st_mode))
    fail(ErrorKind::io, "{}: is {}, expected a regular file", display(file), kind_of(status.st_mode));
  if (fd.get() < 0) fail_read(file, error);
  if (!known) fail_read(file, errno);
  return fd;
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// Fills `bytes` from the beginning of the file.
void read_exactly(const FileDescriptor& fd, std::span<std::byte> bytes, const fs::path& file) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_read(file, errno);
    if (got == 0)
      fail(ErrorKind::io, "{}: ends after {} of {} bytes: it shrank while it was read", display(file), done,
           bytes.size());
    done += static_cast<std::size_t>(got);
  }
}

}  // namespace

std::string display(const fs::path& path) {
  constexpr std::size_t kMost = 4096;  // PATH_MAX
  return plain_or_quoted(path.string(), kMost);
}

std::optional<fs::path> broken_link_target(const fs::path& file) {
  constexpr int kMostLinks = 40;  // Linux's own limit
  std::error_code error;
  if (fs::exists(fs::status(file, error)) || (error && error != std::errc::no_such_file_or_directory))
    return std::nullopt;
  std::optional<fs::path> target;
  fs::path at = file;
  for (int i = 0; i < kMostLinks; ++i) {
    fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / next;  // an absolute target replaces the left side
    target = std::move(next);
  }
  return target;
}

MappedFile::MappedFile(fs::path path, std::span<const std::byte> bytes, bool is_copy)
    : path_(std::move(path)), data_(bytes.data()), size_(bytes.size()), is_copy_(is_copy) {}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& file) { return open(file, ::mmap); }

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& file, Map map) {
  struct stat status {};
  const FileDescriptor fd = open_regular(file, status);
  const auto size = static_cast<std::size_t>(status.st_size);
  const auto make = [&](void* data, bool is_copy) {
    const std::span bytes(static_cast<const std::byte*>(data), size);
    return std::shared_ptr<const MappedFile>(new MappedFile(file, bytes, is_copy));
  };
  if (size == 0) return make(nullptr, false);  // a map of no bytes is an error of mmap
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    void* const data = map(nullptr, size, PROT_READ, flags, fd.get(), 0);
    if (data != MAP_FAILED) return make(data, false);
    if (errno == ENOMEM || errno == EAGAIN) fail_read(file, errno);
  }
  void* const copy = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) fail_read(file, errno);
  auto result = make(copy, true);
  read_exactly(fd, {static_cast<std::byte*>(copy), size}, file);
  log::info("{}: its file system can't map files, so all of it, {}, was read into memory", display(file),
            format_bytes(size));
  return result;
}

void MappedFile::dont_need(std::span<const std::byte> range) const {
  if (is_copy_) return;
  const std::size_t page = page_size();
  const auto first = static_cast<std::size_t>(range.data() - data_);
  const std::size_t begin = (first + page - 1) / page * page;
  // The file's last page belongs to whoever holds the file's end.
  const std::size_t end = first + range.size() == size_ ? size_ : (first + range.size()) / page * page;
  if (range.empty() || begin >= end) return;
  (void)::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

std::string read_file(const fs::path& file, std::size_t most_bytes) {
  struct stat status {};
  const FileDescriptor fd = open_regular(file, status);
  const auto refuse = [&](std::string_view found) {
    fail(ErrorKind::io, "{}: {}, expected at most {}", display(file), found, format_bytes(most_bytes));
  };
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > most_bytes) refuse("has " + format_bytes(size));
  std::string text;
  // Until the end, whatever the size said: it may grow, and files in /proc have size 0.
  for (std::size_t used = 0;;) {
    text.resize(std::max(size + 1, used + 4096));
    const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_read(file, errno);
    used += static_cast<std::size_t>(got);
    if (used > most_bytes) refuse("goes on past its size");
    if (got == 0) {
      text.resize(used);
      return text;
    }
  }
}

}  // namespace perfuse
