// Compiled programs on disk, found again by what they depend on: by the next process, by others at the same time, on
// another machine. docs/compile-cache.md tells the whole of it.
//
// Whatever is wrong with the folder or an entry, a caller gets its program: at worst it is compiled, and the log says
// why. Any number of threads and processes may use one folder at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "perfuse/runtime/cache_entry.h"
#include "perfuse/runtime/cache_folder.h"
#include "perfuse/runtime/cache_key.h"
#include "perfuse/runtime/cache_lock.h"

namespace perfuse::runtime {

struct CacheLimits {
  std::uint64_t bytes = compile_cache_limit();  // of all entries together
};

class CompileCache {
 public:
  // The folder is made when the first entry is stored.
  explicit CompileCache(const std::filesystem::path& folder, CacheLimits limits = {});

  enum class Outcome { hit, compiled };
  struct Fetch {
    Outcome outcome = Outcome::compiled;
    std::string miss_reason;        // why it was compiled; empty at a hit
    bool stored = false;            // compiled, and now in the cache
    std::string not_stored_reason;  // why not; empty at a hit
  };
  // False, or an Error: the payload is of no use; it is compiled anew and the entry replaced. Error(cancelled) and
  // Error(out_of_memory) say nothing about the payload and go to the caller.
  using Load = std::function<bool(std::span<const std::byte> payload)>;
  // The payload to keep; empty where the compiler has no form of its result that can be stored.
  using Compile = std::function<std::vector<std::byte>()>;

  // Calls `load` with the payload of the entry of `key`, or else `compile`, and stores what that gives. One process
  // compiles while the others that want the same wait, until `stop` (Error(cancelled)). `label` names component and
  // segment in messages. An error of `compile` goes to the caller and leaves nothing behind. Error(usage) for a key
  // that can't be one (see fault_of).
  Fetch fetch(const CacheKey& key, const std::string& label, const Load& load, const Compile& compile,
              const std::stop_token& stop = {});

  struct Entry {
    std::filesystem::path file;
    std::uint64_t bytes = 0;
    FileTime last_used;
    EntryHeader header;   // empty where there is a problem
    std::string problem;  // damaged, unreadable, or under the name of another key; names the file
  };
  // Most recently used first. list() reads headers, verify() every byte.
  [[nodiscard]] std::vector<Entry> list() const;
  [[nodiscard]] std::vector<Entry> verify() const;
  void remove(const Entry& entry);  // Error(io)

  // --- Entries from elsewhere -------------------------------------------------------------------------------------
  // A payload may crash the plugin that loads it, so what was imported or shipped is marked untried, and fetch() does
  // not load it: it first calls the trial, which is to load the entries of untried(compiler) in a child process and to
  // mark each; without a trial such entries are misses.
  using Trial = std::function<void(const std::string& compiler)>;
  void set_trial(Trial trial);
  [[nodiscard]] std::vector<Entry> untried(const std::string& compiler) const;
  // Where the file can't be changed (a read-only folder), this object remembers it.
  void mark_tried(const Entry& entry);
  void mark_bad(const Entry& entry, const std::string& why);  // removes it, with a warning

  struct Transfer {
    std::vector<std::filesystem::path> copied;
    std::size_t already_there = 0;
    std::vector<std::string> refused;  // damaged or misnamed, one message each
    std::uint64_t copied_bytes = 0;
  };
  // Copies all entries, each verified and marked untried, to or from a folder of the same shape, which may itself be
  // used as a cache. Error(io) where the target can't be written or the source can't be read.
  Transfer export_to(const std::filesystem::path& folder) const;
  Transfer import_from(const std::filesystem::path& folder);

  // --- Size -------------------------------------------------------------------------------------------------------
  struct Pruned {
    std::size_t removed = 0, kept = 0;
    std::uint64_t removed_bytes = 0, kept_bytes = 0;
    std::vector<std::string> failed;  // what could not be removed, one message each
  };
  // Removes entries that were not used for `older_than`, then the least recently used ones until `limit_bytes` are
  // left; what this object has used stays. Also removes what dead processes left.
  Pruned prune(std::optional<std::uint64_t> limit_bytes, std::optional<std::chrono::seconds> older_than = {});

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const CacheLimits& limits() const { return limits_; }

 private:
  struct Attempt;
  // Nothing, and a warning, where this folder can't have locks.
  std::optional<CacheLock> acquire_lock(const Attempt& attempt, const std::stop_token& stop);
  bool try_hit(const Load& load, Attempt& attempt);
  bool may_load(Attempt& attempt, std::optional<CacheEntry>& entry);
  std::optional<CacheEntry> open_for(Attempt& attempt) const;
  [[nodiscard]] std::string explain_absence(const CacheKey& key) const;
  void drop_damaged(const Attempt& attempt);
  // Empty: stored. Else why not.
  std::string store(const Attempt& attempt, std::span<const std::byte> payload);
  void sweep_once();
  void prune_to_limit();
  // Warned of once for each cause; gives the reason in words.
  std::string note_failure(std::error_code error);
  void note_unmarked(std::error_code error);
  bool tell_once(int what);

  // What is known of an entry that its file doesn't say.
  enum class Verdict { none, tried, bad };
  using Identity = std::pair<std::string, std::string>;  // file name, SHA-256 of the payload
  [[nodiscard]] static Identity identity(const std::filesystem::path& file, const EntryHeader& header);
  [[nodiscard]] Verdict verdict(const std::filesystem::path& file, const EntryHeader& header) const;

  std::filesystem::path folder_;
  CacheLimits limits_;
  Trial trial_;
  std::mutex trial_mutex_;
  mutable std::mutex mutex_;  // of what follows
  bool swept_ = false;
  std::set<int> told_;          // causes of failure that were warned of
  std::set<std::string> used_;  // names of the files that prune() keeps
  std::set<Identity> tried_, bad_;
};

}  // namespace perfuse::runtime
