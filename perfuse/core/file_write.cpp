// The writing half of file.h.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/file_descriptor.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_write(const fs::path& file, int error) {
  fail(ErrorKind::io, "{}: can't be written: {}", display(file), describe_errno(error));
}

void write_all(int fd, std::span<const std::byte> bytes, const fs::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_write(file, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
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

// Else a crash of the machine could keep the new name and lose the content. Some file systems have no fsync.
void sync_and_close(FileDescriptor& fd, const fs::path& file) {
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOSYS && errno != EROFS) fail_write(file, errno);
  if (::close(fd.release()) != 0 && errno != EINTR) fail_write(file, errno);
}

// Gives `from` the name `to` if nothing has it, else false. As the file system allows: in one step; by a second name,
// which NFS has; by an empty file that holds the name until it is replaced.
bool rename_to_new(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) fail_write(to, errno);
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return true;
  }
  if (errno == EEXIST) return false;
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) fail_write(to, errno);
  const FileDescriptor holder(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (holder.get() < 0 && errno == EEXIST) return false;
  if (holder.get() < 0) fail_write(to, errno);
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(to.c_str());
  fail_write(to, error);
}

}  // namespace

std::optional<int> named_descriptor(const fs::path& file) {
  const std::string name = file.lexically_normal().string();
  if (name == "/dev/stdin") return STDIN_FILENO;
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
    sync_and_close(state.fd, state.file);
  } else if (::close(state.fd.release()) != 0 && errno != EINTR) {
    fail_write(state.file, errno);
  }
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

void check_folder_writable(const fs::path& folder) {
  const fs::path shown = folder.empty() ? fs::path(".") : folder;
  ::unlink(create_beside(shown / "file", shown).second.c_str());
}

fs::path write_new_file(const std::function<fs::path(std::size_t)>& name, std::span<const std::byte> bytes) {
  constexpr std::size_t kMostTries = 1'000'000;
  const fs::path first = name(1);
  auto [fd, temporary] = create_beside(first, first);
  try {
    write_all(fd.get(), bytes, first);
    sync_and_close(fd, first);
    for (std::size_t number = 1; number <= kMostTries; ++number)
      if (fs::path file = name(number); rename_to_new(temporary, file)) return file;
    fail_write(first, EEXIST);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace perfuse
