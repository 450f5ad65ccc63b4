#include "perfuse/core/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file_descriptor.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_read(const fs::path& file, int error) {
  fail(ErrorKind::io, "{}: can't be read: {}", display(file), describe_errno(error));
}

[[noreturn]] void fail_write(const fs::path& file, int error) {
  fail(ErrorKind::io, "{}: can't be written: {}", display(file), describe_errno(error));
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

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_write(file, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

// N of /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N: written through the descriptor itself,
// since what the name leads to may be a file that a shell has open, or a socket.
std::optional<int> named_descriptor(const fs::path& file) {
  const std::string name = file.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view prefix : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(prefix)) continue;
    int fd = -1;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), fd);
    if (error == std::errc{} && end == name.data() + name.size() && fd >= 0) return fd;
  }
  return std::nullopt;
}

// The file that the symbolic links at the end of `file` lead to, whether it exists or not.
fs::path follow_links(const fs::path& file) {
  constexpr int kMostLinks = 40;  // Linux's own limit
  fs::path result = file;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(result, error);
    if (error) return result;
    result = result.parent_path() / target;  // an absolute target replaces the left side
  }
  fail_write(file, ELOOP);
}

// Where and how `file` is to be written.
struct Target {
  fs::path path;          // links followed
  bool in_place = false;  // exists, and is no regular file
  std::optional<struct stat> old;
};

Target find_target(const fs::path& file) {
  if (file.empty()) fail(ErrorKind::io, "the name of the file to write is empty");
  Target target{follow_links(file), false, std::nullopt};
  struct stat status {};
  if (::stat(target.path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail_write(file, EISDIR);
    // A rename would replace what its owner made read-only.
    if (::access(target.path.c_str(), W_OK) != 0) fail_write(file, errno);
    target.in_place = !S_ISREG(status.st_mode);
    target.old = status;
  } else if (errno != ENOENT) {
    fail_write(file, errno);
  } else if (!target.path.has_filename()) {
    fail_write(file, EISDIR);  // "folder/"
  }
  return target;
}

// A new file in the folder of `target`. Not mkostemp, whose files are 0600: here the umask decides.
std::pair<FileDescriptor, fs::path> create_beside(const fs::path& target, const fs::path& file) {
  static std::atomic<unsigned> counter{0};
  for (int tries = 0; tries < 100; ++tries) {
    const fs::path name =
        target.parent_path() / (".perfuse-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    FileDescriptor fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() >= 0) return {std::move(fd), name};
    if (errno != EEXIST) {
      const int error = errno;
      if (error == ENOENT)
        fail(ErrorKind::io, "{}: can't be written: its folder {} does not exist", display(file),
             display(target.parent_path()));
      fail_write(file, error);
    }
  }
  fail_write(file, EEXIST);
}

FileDescriptor open_in_place(const fs::path& file) {
  // O_NONBLOCK: opening a FIFO that nobody reads would wait; with it the error is ENXIO.
  FileDescriptor fd(::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) fail_write(file, errno == ENXIO ? EPIPE : errno);
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK) != 0) fail_write(file, errno);
  return fd;
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

// Fills `bytes` from the beginning of the file.
void read_exactly(const FileDescriptor& fd, std::span<std::byte> bytes, const fs::path& file) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got =
        ::pread(fd.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
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

struct AtomicFile::State {
  fs::path file;  // as the caller named it, for messages
  Target target;
  FileDescriptor fd;
  fs::path temporary;  // empty where written in place, and once renamed
};

AtomicFile::AtomicFile(fs::path file) : state_(std::make_unique<State>()) {
  state_->file = std::move(file);
  if (const auto named = named_descriptor(state_->file)) {
    state_->fd = FileDescriptor(::fcntl(*named, F_DUPFD_CLOEXEC, 0));
    if (state_->fd.get() < 0) fail_write(state_->file, errno);
    return;
  }
  state_->target = find_target(state_->file);
  if (state_->target.in_place)
    state_->fd = open_in_place(state_->file);
  else
    std::tie(state_->fd, state_->temporary) = create_beside(state_->target.path, state_->file);
}

AtomicFile::~AtomicFile() {
  if (!state_->temporary.empty()) ::unlink(state_->temporary.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(state_->fd.get(), bytes, state_->file); }

void AtomicFile::commit() {
  State& state = *state_;
  const int fd = state.fd.get();
  if (!state.temporary.empty()) {
    if (const auto& old = state.target.old) {
      // The old file's owner and mode, where they may be given; the new content matters more.
      [[maybe_unused]] const int owner = ::fchown(fd, old->st_uid, old->st_gid);
      [[maybe_unused]] const int mode = ::fchmod(fd, old->st_mode & 07777u);
    }
    // Else a crash of the machine could keep the new name and lose the content. Some file systems have no fsync.
    if (::fsync(fd) != 0 && errno != EINVAL && errno != ENOSYS && errno != EROFS)
      fail_write(state.file, errno);
  }
  if (::close(state.fd.release()) != 0 && errno != EINTR) fail_write(state.file, errno);
  if (state.temporary.empty()) return;
  if (::rename(state.temporary.c_str(), state.target.path.c_str()) != 0) fail_write(state.file, errno);
  state.temporary.clear();
}

void write_file(const fs::path& file, std::span<const std::byte> bytes) {
  AtomicFile out(file);
  out.write(bytes);
  out.commit();
}

void write_file(const fs::path& file, std::string_view text) {
  write_file(file, std::as_bytes(std::span(text)));
}

void check_writable(const fs::path& file) {
  if (const auto named = named_descriptor(file)) {
    const int flags = ::fcntl(*named, F_GETFL);
    if (flags < 0) fail_write(file, errno);
    if ((flags & O_ACCMODE) == O_RDONLY) fail_write(file, EACCES);
    return;
  }
  if (const Target target = find_target(file); !target.in_place)
    ::unlink(create_beside(target.path, file).second.c_str());
}

}  // namespace perfuse
