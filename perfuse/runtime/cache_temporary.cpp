#include "perfuse/runtime/cache_temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;

std::string random_name() {
  std::random_device random;
  return fmt::format(".{:08x}{:08x}.tmp", random(), random());
}

bool is_random_name(const std::string& name) {
  constexpr std::size_t kSize = 1 + 16 + 4;
  return name.size() == kSize && name.front() == '.' && name.ends_with(".tmp") &&
         name.find_first_not_of("0123456789abcdef", 1) == kSize - 4;
}

bool is_linked(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

}  // namespace

CacheTemporary::CacheTemporary(const fs::path& folder) { create(folder); }

CacheTemporary::~CacheTemporary() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void CacheTemporary::check(bool good) {
  if (!good) error_ = {errno, std::system_category()};
}

void CacheTemporary::create(const fs::path& folder) {
  for (int tries = 0; tries < 100; ++tries) {
    const fs::path path = folder / random_name();
    // Not mkostemp, whose files are 0600: here the umask decides who shares the cache.
    fd_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd_.get() < 0) {
      if (errno == EEXIST) continue;
      return check(false);
    }
    // A sweeper that came between the two calls holds the lock now, and removes the file: then once more. Where the
    // file system has no locks, sweepers get none either, and keep away.
    while (::flock(fd_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    if (is_linked(fd_.get())) {
      path_ = path;
      return;
    }
  }
  errno = EEXIST;
  check(false);
}

void CacheTemporary::write(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !error_) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    check(written >= 0);
    if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void CacheTemporary::commit(const fs::path& file) {
  // Else a crash of the machine could keep the name and lose the content. Some file systems have no fsync.
  check(::fsync(fd_.get()) == 0 || errno == EINVAL || errno == ENOSYS);
  if (error_) return;
  check(::rename(path_.c_str(), file.c_str()) == 0);
  if (!error_) path_.clear();
}

int sweep_temporaries(const fs::path& folder) {
  int removed = 0;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    if (!is_random_name(it->path().filename().string())) continue;
    const FileDescriptor fd(::open(it->path().c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.get() < 0 || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    removed += ::unlink(it->path().c_str()) == 0 ? 1 : 0;
  }
  return removed;
}

}  // namespace perfuse::runtime
