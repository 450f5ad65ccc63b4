// What people do with a compile cache: look at it, check it, make it smaller, carry it elsewhere.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "perfuse/core/file_descriptor.h"
#include "perfuse/core/log.h"
#include "perfuse/runtime/compile_cache.h"

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;

// Servers and machines differ by seconds. What is dated later than this was used while a clock was wrong.
constexpr auto kClockSlack = std::chrono::hours(1);

// Where the entry belongs, seen from the folder, as against where it lies.
std::string misplacement(const fs::path& file, const EntryHeader& header) {
  const fs::path right = entry_path(header.key);
  if (right.filename() == file.filename() && right.parent_path() == file.parent_path().filename()) return "";
  return fmt::format("{}: holds the entry of another key, whose name is {}", display(file),
                     display(right.filename()));
}

template <class ReadHeader>
std::vector<CompileCache::Entry> read_entries(const fs::path& folder, const ReadHeader& read_header) {
  auto files = entry_files(folder);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::tie(b.last_used, a.path) < std::tie(a.last_used, b.path);
  });
  std::vector<CompileCache::Entry> entries;
  for (const auto& file : files) {
    CompileCache::Entry entry{file.path, file.bytes, file.last_used, {}, ""};
    try {
      EntryHeader header = read_header(file.path);
      entry.problem = misplacement(file.path, header);
      if (entry.problem.empty()) entry.header = std::move(header);
    } catch (const Error& error) {
      if (::access(file.path.c_str(), F_OK) != 0) continue;  // removed just now
      entry.problem = error.what();
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// True where `file` is already a whole entry of this key.
bool is_entry_of(const fs::path& file, const CacheKey& key) {
  try {
    return CacheEntry::open(file).header().key == key;
  } catch (const Error&) {
    return false;  // absent, or to be replaced
  }
}

void copy_entry(const fs::path& from, const fs::path& folder, CompileCache::Transfer& transfer) {
  const auto entry = [&]() -> std::optional<CacheEntry> {
    try {
      auto opened = CacheEntry::open(from);
      if (auto wrong = misplacement(from, opened.header()); !wrong.empty()) {
        transfer.refused.push_back(std::move(wrong));
        return std::nullopt;
      }
      return opened;
    } catch (const Error& error) {
      transfer.refused.emplace_back(error.what());
      return std::nullopt;
    }
  }();
  if (!entry) return;
  EntryHeader header = entry->header();
  const fs::path to = folder / entry_path(header.key);
  if (is_entry_of(to, header.key)) {
    ++transfer.already_there;
    return;
  }
  header.tried = false;
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) error = write_entry(to, header, entry->payload());
  if (error)
    fail(ErrorKind::io, "{}: can't be written: {}; {} were copied before", display(to),
         describe_errno(error.value()), transfer.copied.size());
  transfer.copied.push_back(to);
  transfer.copied_bytes += entry->payload().size();
}

CompileCache::Transfer copy_entries(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  if (fs::equivalent(from, to, ignored))
    fail(ErrorKind::usage, "{}: is the compile cache itself; name another folder", display(to));
  auto files = entry_files(from);
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  CompileCache::Transfer transfer;
  for (const auto& file : files) copy_entry(file.path, to, transfer);
  return transfer;
}

}  // namespace

std::vector<CompileCache::Entry> CompileCache::list() const {
  return read_entries(folder_, read_entry_header);
}

std::vector<CompileCache::Entry> CompileCache::verify() const {
  return read_entries(folder_, [](const fs::path& file) { return CacheEntry::open(file).header(); });
}

void CompileCache::remove(const Entry& entry) {
  if (::unlink(entry.file.c_str()) != 0 && errno != ENOENT)
    fail(ErrorKind::io, "{}: can't be removed: {}", display(entry.file), describe_errno(errno));
}

std::vector<CompileCache::Entry> CompileCache::untried(const std::string& compiler) const {
  auto entries = list();
  std::erase_if(entries, [&](const Entry& entry) {
    return !entry.problem.empty() || entry.header.tried || entry.header.key.compiler != compiler ||
           verdict(entry.file, entry.header) != Verdict::none;
  });
  return entries;
}

void CompileCache::mark_tried(const Entry& entry) {
  {
    const std::scoped_lock lock(mutex_);
    tried_.insert(identity(entry.file, entry.header));
  }
  try {
    const auto now = CacheEntry::open(entry.file);
    EntryHeader header = now.header();
    if (header.payload_sha256 != entry.header.payload_sha256 || header.tried) return;
    header.tried = true;
    if (const auto error = write_entry(entry.file, header, now.payload())) note_failure(error);
  } catch (const Error& error) {
    log::debug("{}",
               error.what());  // replaced, removed or damaged meanwhile: the next fetch looks for itself
  }
}

void CompileCache::mark_bad(const Entry& entry, const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    bad_.insert(identity(entry.file, entry.header));
  }
  std::string outcome = "it was replaced meanwhile";
  try {
    const auto now = read_entry_header(entry.file);
    if (now.payload_sha256 == entry.header.payload_sha256 && !now.tried) {
      remove(entry);
      outcome = "it is removed";
    }
  } catch (const Error& error) {
    outcome = error.what();
  }
  log::warning("{}: the entry from elsewhere is bad: {}; {}", display(entry.file), why, outcome);
}

CompileCache::Identity CompileCache::identity(const fs::path& file, const EntryHeader& header) {
  return {file.filename().string(), header.payload_sha256};
}

CompileCache::Verdict CompileCache::verdict(const fs::path& file, const EntryHeader& header) const {
  const std::scoped_lock lock(mutex_);
  const auto id = identity(file, header);
  if (bad_.contains(id)) return Verdict::bad;
  return tried_.contains(id) ? Verdict::tried : Verdict::none;
}

CompileCache::Transfer CompileCache::export_to(const fs::path& folder) const {
  return copy_entries(folder_, folder);
}

CompileCache::Transfer CompileCache::import_from(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) fail(ErrorKind::io, "{}: is no folder", display(folder));
  auto transfer = copy_entries(folder, folder_);
  if (transfer.copied.empty() && transfer.already_there == 0 && transfer.refused.empty())
    fail(ErrorKind::io, "{}: holds no compiled programs; expected a folder that perfuse cache export wrote",
         display(folder));
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& file : transfer.copied) used_.insert(file.filename().string());
  }
  prune_to_limit();
  return transfer;
}

CompileCache::Pruned CompileCache::prune(std::optional<std::uint64_t> limit_bytes,
                                         std::optional<std::chrono::seconds> older_than) {
  sweep_cache_folder(folder_);
  auto files = entry_files(folder_);
  const FileTime now = std::chrono::system_clock::now();
  // The clock has been set back since: so everything with a plausible time was used later than these.
  const auto in_future = [&](const CacheFile& file) { return file.last_used > now + kClockSlack; };
  std::sort(files.begin(), files.end(), [&](const CacheFile& a, const CacheFile& b) {
    return std::make_tuple(!in_future(a), a.last_used, a.path) <
           std::make_tuple(!in_future(b), b.last_used, b.path);
  });
  const auto used = [&] {
    const std::scoped_lock lock(mutex_);
    return used_;
  }();
  std::uint64_t total = 0;
  for (const auto& file : files) total += file.bytes;
  Pruned pruned;
  for (const auto& file : files) {
    const bool too_old = older_than && !in_future(file) && now - file.last_used > *older_than;
    const bool too_much = limit_bytes && total > *limit_bytes;
    bool kept = used.contains(file.path.filename().string()) || !(too_old || too_much);
    if (!kept && ::unlink(file.path.c_str()) != 0 && errno != ENOENT) {  // ENOENT: another process prunes too
      kept = true;
      pruned.failed.push_back(
          fmt::format("{}: can't be removed: {}", display(file.path), describe_errno(errno)));
    }
    (kept ? pruned.kept : pruned.removed) += 1;
    (kept ? pruned.kept_bytes : pruned.removed_bytes) += file.bytes;
    if (!kept) total -= file.bytes;
  }
  return pruned;
}

}  // namespace perfuse::runtime
