// Files that are read whole or mapped, and files that are written whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace perfuse {

// A path for a one-line message: as it is, or quoted where it holds control characters or invalid UTF-8.
[[nodiscard]] std::string display(const std::filesystem::path& path);

// A read-only memory map of a regular file. Pages are shared with the page cache, so a mapped weight
// costs memory only while it is in use. Some file systems (FUSE without caching, some network ones) can't be mapped as
// shared: a private map does as well there. Where that fails too the file is read into memory, with a message.
class MappedFile {
 public:
  // Error(io or model) naming the file: absent, a directory, a FIFO or device (opened without
  // blocking), a loop of symbolic links, no permission.
  [[nodiscard]] static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file);
  // With another mmap(2), for tests of file systems that refuse.
  using Map = void* (*)(void* address, std::size_t length, int protection, int flags, int fd, off_t offset);
  [[nodiscard]] static std::shared_ptr<const MappedFile> open(const std::filesystem::path& file, Map map);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Tells the kernel that the range is no longer needed: its whole pages leave this process's resident memory and
  // are read again on the next touch.
  void dont_need(std::span<const std::byte> range) const;

 private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, bool is_copy);
  std::filesystem::path path_;
  const std::byte* data_;
  std::size_t size_;
  bool is_copy_;  // in memory of our own, which must not be given back while it is in use
};

// The whole of a regular file of at most `most_bytes`; the errors of MappedFile::open, and one that
// names the limit.
[[nodiscard]] std::string read_file(const std::filesystem::path& file, std::size_t most_bytes);

// N of /dev/stdin, /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N. Such a file is read and written through the
// descriptor itself, since what the name leads to may be a file that a shell has open, or a socket.
[[nodiscard]] std::optional<int> named_descriptor(const std::filesystem::path& file);

// The target of the symbolic link at the end of `file` (of the last one, where one leads to another) if it leads
// nowhere; nothing for what exists, and for what is no link.
[[nodiscard]] std::optional<std::filesystem::path> broken_link_target(const std::filesystem::path& file);

// Writes beside `file` and renames, so that a full disk or a crash leaves the old file (or none) and
// never a part. A symbolic link stays and its target is written. What is not a regular file (/dev/stdout,
// /dev/fd/N, a FIFO that somebody reads) is written in place. Error(io) names the file and the cause.
void write_file(const std::filesystem::path& file, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& file, std::string_view text);

// Writes a file that is not there yet, and gives its name: the first of name(1), name(2), … (all in one folder) that
// nothing has, be it a broken link. Whole or not at all, and never over another file, even one that another process
// makes meanwhile.
std::filesystem::path write_new_file(const std::function<std::filesystem::path(std::size_t)>& name,
                                     std::span<const std::byte> bytes);

// A file written in pieces under the same promise: nothing appears at `path` before commit(); the
// destructor without commit() removes what was written.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Error(io) unless `file` could be written now: its folder exists and is writable, and it is not a
// folder. Leaves nothing behind. For checking an output before long work.
void check_writable(const std::filesystem::path& file);

// Error(io) unless a file could be made in `folder`; "" is the current one.
void check_folder_writable(const std::filesystem::path& folder);

}  // namespace perfuse
