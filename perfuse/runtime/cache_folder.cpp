#include "perfuse/runtime/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/file_descriptor.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"
#include "perfuse/runtime/cache_lock.h"
#include "perfuse/runtime/cache_temporary.h"

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = 20ull << 30;
constexpr std::string_view kOff = "none";

// Set and not empty.
std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool is_shard(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::optional<CacheFile> entry_file(const fs::path& path) {
  struct stat status {};
  if (path.extension() != ".pfc" || ::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return std::nullopt;
  // Nanoseconds in 64 bits end in 2262; file systems don't.
  constexpr std::int64_t kMostSeconds = 9'000'000'000;
  const std::chrono::seconds seconds(std::clamp<std::int64_t>(status.st_mtim.tv_sec, 0, kMostSeconds));
  return CacheFile{path, static_cast<std::uint64_t>(status.st_size),
                   FileTime(seconds + std::chrono::nanoseconds(status.st_mtim.tv_nsec))};
}

void append_entries(const fs::path& subfolder, const std::string& prefix, std::vector<CacheFile>& files) {
  std::error_code ignored;  // removed, or no permission: then it has no entries for us
  for (fs::directory_iterator it(subfolder, ignored), end; it != end; it.increment(ignored))
    if (it->path().filename().string().starts_with(prefix))
      if (auto file = entry_file(it->path())) files.push_back(std::move(*file));
}

std::vector<fs::path> shards_of(const fs::path& folder) {
  std::vector<fs::path> shards;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  if (error && error.value() != ENOENT)
    fail(ErrorKind::io, "{}: can't be read as a folder of compiled programs: {}", display(folder),
         describe_errno(error.value()));
  for (const fs::directory_iterator end; !error && it != end; it.increment(error))
    if (is_shard(it->path())) shards.push_back(it->path());
  return shards;
}

}  // namespace

std::optional<fs::path> compile_cache_folder(const std::optional<std::string>& option) {
  if (option && option->empty())
    fail(ErrorKind::usage,
         "--cache-dir: expected a folder, or none to keep no compiled programs, found \"\"");
  if (const auto named = option ? option : environment("PERFUSE_CACHE_DIR")) {
    if (*named == kOff) return std::nullopt;
    return fs::path(*named);
  }
  // The XDG base directory specification: a relative path there is to be ignored.
  if (const auto xdg = environment("XDG_CACHE_HOME"); xdg && fs::path(*xdg).is_absolute())
    return fs::path(*xdg) / "perfuse" / "compiled";
  if (const auto home = environment("HOME")) return fs::path(*home) / ".cache" / "perfuse" / "compiled";
  log::warning(
      "compiled programs are not kept: no folder is known for them, as HOME is not set; set "
      "PERFUSE_CACHE_DIR");
  return std::nullopt;
}

std::uint64_t compile_cache_limit() {
  const auto text = environment("PERFUSE_CACHE_LIMIT");
  return text ? parse_bytes("PERFUSE_CACHE_LIMIT", *text) : kDefaultLimit;
}

std::vector<CacheFile> entry_files(const fs::path& folder) {
  std::vector<CacheFile> files;
  for (const auto& shard : shards_of(folder)) append_entries(shard, "", files);
  return files;
}

std::vector<CacheFile> entry_files_of(const fs::path& subfolder, const std::string& prefix) {
  std::vector<CacheFile> files;
  append_entries(subfolder, prefix, files);
  return files;
}

std::error_code mark_used(const fs::path& file) {
  // Null, the present, is what any user who may write the file may say; other times are its owner's to set.
  if (::utimensat(AT_FDCWD, file.c_str(), nullptr, 0) == 0) return {};
  return {errno, std::system_category()};
}

void sweep_cache_folder(const fs::path& folder) {
  for (const auto& shard : shards_of(folder)) sweep_temporaries(shard);
  sweep_locks(lock_folder(folder));
}

fs::path lock_folder(const fs::path& folder) { return folder / "locks"; }

}  // namespace perfuse::runtime
