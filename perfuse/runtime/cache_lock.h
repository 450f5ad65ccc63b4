// A lock between processes and threads, by a file. The kernel holds it for the open file, so it ends with the process
// that has it, however that dies; a file that lies there without a holder locks nobody out.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

#include "perfuse/core/file_descriptor.h"

namespace perfuse::runtime {

class CacheLock {
 public:
  struct Waiting {
    std::stop_token stop;
    // Called once, if the lock is not got within two seconds, with what the holder wrote into the file.
    std::function<void(const std::string& holder)> tell;
  };

  // Waits until nobody else has the lock. `note` goes into the file, for those who wait. Nothing and `error` where the
  // folder can't have locks (read-only, full, no support); Error(cancelled) where asked to stop.
  [[nodiscard]] static std::optional<CacheLock> acquire(const std::filesystem::path& file,
                                                        const std::string& note, const Waiting& waiting,
                                                        std::error_code& error);
  ~CacheLock();  // removes the file
  CacheLock(CacheLock&&) noexcept = default;
  CacheLock& operator=(CacheLock&&) = delete;

 private:
  CacheLock(std::filesystem::path file, FileDescriptor fd) : file_(std::move(file)), fd_(std::move(fd)) {}
  std::filesystem::path file_;
  FileDescriptor fd_;
};

// Removes the lock files in `folder` that have no holder.
void sweep_locks(const std::filesystem::path& folder);

}  // namespace perfuse::runtime
