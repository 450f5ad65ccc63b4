// A file of a cache folder while it is being written. Its writer holds a lock on it, so that any process can tell the
// temporaries of dead writers from those of living ones, whatever machine or container those run in.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <system_error>

#include "perfuse/core/file_descriptor.h"

namespace perfuse::runtime {

class CacheTemporary {
 public:
  // Makes .RANDOM.tmp in `folder`. The first error that the system gives is kept; after it nothing more is done.
  explicit CacheTemporary(const std::filesystem::path& folder);
  ~CacheTemporary();  // removes what was not committed
  CacheTemporary(const CacheTemporary&) = delete;
  CacheTemporary& operator=(const CacheTemporary&) = delete;

  void write(std::span<const std::byte> bytes);
  // Flushes to the disk and renames to `file` of the same folder.
  void commit(const std::filesystem::path& file);
  [[nodiscard]] std::error_code error() const { return error_; }

 private:
  void create(const std::filesystem::path& folder);
  void check(bool good);  // errno, if not good

  std::filesystem::path path_;  // empty: none, or renamed
  FileDescriptor fd_;
  std::error_code error_;
};

// Removes the temporaries in `folder` whose writers are dead; gives their number.
int sweep_temporaries(const std::filesystem::path& folder);

}  // namespace perfuse::runtime
