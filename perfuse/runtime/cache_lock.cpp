#include "perfuse/runtime/cache_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kFirstPause = std::chrono::milliseconds(5);
constexpr auto kLongestPause = std::chrono::milliseconds(200);
constexpr auto kTellAfter = std::chrono::seconds(2);
constexpr int kMostReplaced = 1000;

FileDescriptor open_lock(const fs::path& file, int flags) {
  FileDescriptor fd(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666));
  // Another user's file: a lock needs no right to write, only the note does.
  if (fd.get() < 0 && errno == EACCES)
    fd = FileDescriptor(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  return fd;
}

// The last holder removes the file, so the one that was opened may not be the one that is there now.
bool is_at(int fd, const fs::path& file) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(file.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

std::string read_note(int fd) {
  std::array<char, 400> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  return size > 0 ? plain_or_quoted({text.data(), static_cast<std::size_t>(size)}, text.size())
                  : "another process";
}

// Notes are for people: without one (a full disk) the lock is as good.
void write_note(int fd, const std::string& note) {
  if (::ftruncate(fd, 0) == 0) [[maybe_unused]]
    const ssize_t written = ::pwrite(fd, note.data(), note.size(), 0);
}

// False where the stop came first.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

std::optional<CacheLock> CacheLock::acquire(const fs::path& file, const std::string& note,
                                            const Waiting& waiting, std::error_code& error) {
  const auto start = Clock::now();
  auto next_pause = kFirstPause;
  int replaced = 0;
  for (bool told = false;;) {
    FileDescriptor fd = open_lock(file, O_CREAT);
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (!is_at(fd.get(), file)) {
        if (++replaced < kMostReplaced) continue;
        errno = ENOLCK;  // a file system on which a file is never the one that its name gives
        break;
      }
      write_note(fd.get(), note);
      return CacheLock(file, std::move(fd));
    }
    if (errno == EINTR) continue;
    if (fd.get() < 0 || errno != EWOULDBLOCK) break;
    if (!told && Clock::now() - start >= kTellAfter) {
      told = true;
      if (waiting.tell) waiting.tell(read_note(fd.get()));
    }
    if (!pause(next_pause, waiting.stop))
      fail(ErrorKind::cancelled, "stopped while waiting for {}", read_note(fd.get()));
    next_pause = std::min(2 * next_pause, kLongestPause);
  }
  error = {errno, std::system_category()};
  return std::nullopt;
}

CacheLock::~CacheLock() {
  if (fd_.get() < 0) return;
  ::unlink(file_.c_str());
  // Said, not left to close(): a child process that was forked meanwhile has the same open file.
  ::flock(fd_.get(), LOCK_UN);
}

void sweep_locks(const fs::path& folder) {
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    if (it->path().extension() != ".lock") continue;
    const FileDescriptor fd = open_lock(it->path(), 0);
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_at(fd.get(), it->path()))
      ::unlink(it->path().c_str());
  }
}

}  // namespace perfuse::runtime
