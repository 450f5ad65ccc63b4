// Which folder holds compiled programs, how large it may become, and what lies in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace perfuse::runtime {

// `option` (--cache-dir), else $PERFUSE_CACHE_DIR, else $XDG_CACHE_HOME/perfuse/compiled, else
// ~/.cache/perfuse/compiled. "none" for either of the first two turns the cache off: nothing. Nothing, and a warning,
// also where no variable tells of a folder. Error(usage) for an empty option.
[[nodiscard]] std::optional<std::filesystem::path> compile_cache_folder(
    const std::optional<std::string>& option = std::nullopt);

// Bytes from $PERFUSE_CACHE_LIMIT ("500MB", "20GiB"), else 20 GiB. Error(usage) for what is no size.
[[nodiscard]] std::uint64_t compile_cache_limit();

using FileTime = std::chrono::sys_time<std::chrono::nanoseconds>;

struct CacheFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  FileTime last_used;  // the file's time of modification
};

// The entries' files, in no order: regular *.pfc in subfolders named by two hexadecimal digits. What else lies in the
// folder is nobody's business. Empty where there is no such folder; Error(io) where it can't be read.
[[nodiscard]] std::vector<CacheFile> entry_files(const std::filesystem::path& folder);
// The same for one subfolder, of names that begin with `prefix`; empty where it can't be read.
[[nodiscard]] std::vector<CacheFile> entry_files_of(const std::filesystem::path& subfolder,
                                                    const std::string& prefix);

// Makes this moment the time of last use; the error of the system where that can't be.
[[nodiscard]] std::error_code mark_used(const std::filesystem::path& file);

// Removes what dead processes left: unfinished files, lock files.
void sweep_cache_folder(const std::filesystem::path& folder);

[[nodiscard]] std::filesystem::path lock_folder(const std::filesystem::path& folder);

}  // namespace perfuse::runtime
