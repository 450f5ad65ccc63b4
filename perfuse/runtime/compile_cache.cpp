#include "perfuse/runtime/compile_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "perfuse/core/file_descriptor.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;

// What those who wait are told: "process 4711 on trn1-a".
std::string lock_note() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) host = "this machine";
  return fmt::format("process {} on {}", ::getpid(), host.c_str());
}

bool has_no_locks(std::error_code error) {
  return error.value() == ENOLCK || error.value() == ENOSYS || error.value() == EOPNOTSUPP;
}

fs::path absolute_folder(const fs::path& folder) {
  std::error_code error;
  fs::path result = fs::absolute(folder, error);
  return error ? folder : result;
}

}  // namespace

// One fetch: what is wanted, and what was found out on the way.
struct CompileCache::Attempt {
  const CacheKey& key;
  const std::string& label;
  fs::path file;
  std::string reason;   // why it is no hit: the first reason that was found
  std::string damage;   // the entry is damaged: how, naming the file
  std::string refused;  // SHA-256 of the payload that `load` refused

  void miss(std::string why) {
    if (reason.empty()) reason = std::move(why);
  }
};

CompileCache::CompileCache(const fs::path& folder, CacheLimits limits)
    : folder_(absolute_folder(folder)), limits_(limits) {}

void CompileCache::set_trial(Trial trial) { trial_ = std::move(trial); }

CompileCache::Fetch CompileCache::fetch(const CacheKey& key, const std::string& label, const Load& load,
                                        const Compile& compile, const std::stop_token& stop) {
  if (const auto fault = fault_of(key); !fault.empty())
    fail(ErrorKind::usage, "compile cache: the key of {}: {}", label, fault);
  Attempt attempt{key, label, folder_ / entry_path(key), "", "", ""};
  if (try_hit(load, attempt)) return {Outcome::hit, "", false, ""};

  const auto lock = acquire_lock(attempt, stop);
  // Another process may have compiled it since the first look.
  if (lock && try_hit(load, attempt)) return {Outcome::hit, "", false, ""};
  if (!attempt.damage.empty()) drop_damaged(attempt);

  log::debug("{}: compiling: {}", label, attempt.reason);
  const std::vector<std::byte> payload = compile();
  Fetch result{Outcome::compiled, attempt.reason, false, "the compiler gives no result that could be stored"};
  if (!payload.empty()) result.not_stored_reason = store(attempt, payload);
  result.stored = result.not_stored_reason.empty();
  // A refused entry goes only now: had compile() failed too, the entry would not have been to blame.
  if (!result.stored && !attempt.refused.empty()) ::unlink(attempt.file.c_str());
  return result;
}

std::optional<CacheLock> CompileCache::acquire_lock(const Attempt& attempt, const std::stop_token& stop) {
  const fs::path folder = lock_folder(folder_);
  const auto tell = [&](const std::string& holder) {
    log::info("{}: waiting for {}, which compiles the same program", attempt.label, holder);
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) {
    auto lock =
        CacheLock::acquire(folder / (hash_of(attempt.key) + ".lock"), lock_note(), {stop, tell}, error);
    if (lock) return lock;
  }
  note_failure(error);
  return std::nullopt;
}

bool CompileCache::try_hit(const Load& load, Attempt& attempt) {
  auto entry = open_for(attempt);
  if (!entry || !may_load(attempt, entry)) return false;
  const std::string& sum = entry->header().payload_sha256;
  if (sum == attempt.refused) return false;
  std::string why = "the backend refuses it";
  try {
    if (load(entry->payload())) {
      {
        const std::scoped_lock lock(mutex_);
        used_.insert(attempt.file.filename().string());
      }
      const auto error = mark_used(attempt.file);
      if (error && error.value() != ENOENT) note_unmarked(error);
      log::debug("{}: found in the compile cache", attempt.label);
      return true;
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::cancelled || error.kind() == ErrorKind::out_of_memory) throw;
    why = error.what();
  }
  attempt.refused = sum;
  attempt.reason = fmt::format("{}: the entry can't be loaded: {}", display(attempt.file), why);
  log::warning("{}; {} is compiled anew", attempt.reason, attempt.label);
  return false;
}

std::optional<CacheEntry> CompileCache::open_for(Attempt& attempt) const {
  attempt.damage.clear();
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(attempt.file, ignored))) {
    if (attempt.reason.empty()) attempt.reason = explain_absence(attempt.key);
    return std::nullopt;
  }
  try {
    auto entry = CacheEntry::open(attempt.file);
    if (entry.header().key == attempt.key) return entry;
    attempt.damage = fmt::format("{}: holds the entry of another key, {}", display(attempt.file),
                                 describe_differences(entry.header().key, attempt.key));
  } catch (const DamagedEntry& error) {
    attempt.damage = error.what();
  } catch (const Error& error) {
    attempt.miss(error.what());
    return std::nullopt;
  }
  attempt.miss(attempt.damage);
  return std::nullopt;
}

bool CompileCache::may_load(Attempt& attempt, std::optional<CacheEntry>& entry) {
  const auto allowed = [&] {
    return entry && (entry->header().tried || verdict(attempt.file, entry->header()) == Verdict::tried);
  };
  if (allowed()) return true;
  const EntryHeader before = entry->header();
  const auto is_bad = [&] { return verdict(attempt.file, before) == Verdict::bad; };
  if (trial_ && !is_bad()) {
    const std::scoped_lock lock(trial_mutex_);
    entry = open_for(attempt);  // another thread's trial may have been the answer
    if (entry && !allowed() && !is_bad()) {
      try {
        trial_(attempt.key.compiler);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::cancelled) throw;
        log::warning("compiled programs from elsewhere can't be tried: {}", error.what());
      }
      entry = open_for(attempt);
    }
    if (allowed()) return true;
  }
  attempt.miss(
      is_bad()
          ? fmt::format("{}: the entry came from elsewhere and was found bad", display(attempt.file))
          : fmt::format("{}: the entry came from elsewhere and was not tried yet", display(attempt.file)));
  return false;
}

std::string CompileCache::explain_absence(const CacheKey& key) const {
  // Of the entries of the same program the nearest; of equally near ones the most recently used.
  std::optional<CacheKey> nearest;
  FileTime nearest_time;
  for (const auto& file : entry_files_of((folder_ / entry_path(key)).parent_path(), entry_prefix(key))) {
    try {
      const CacheKey found = read_entry_header(file.path).key;
      if (found.program != key.program) continue;
      const int difference = nearest ? count_differences(found, key) - count_differences(*nearest, key) : -1;
      if (difference > 0 || (difference == 0 && file.last_used <= nearest_time)) continue;
      nearest = found;
      nearest_time = file.last_used;
    } catch (const Error& error) {
      log::debug("{}", error.what());  // its own fetch, or verify(), tells of it
    }
  }
  if (!nearest) return "never compiled";
  return "the same program was compiled " + describe_differences(*nearest, key);
}

void CompileCache::drop_damaged(const Attempt& attempt) {
  const bool removed = ::unlink(attempt.file.c_str()) == 0 || errno == ENOENT;
  log::warning("{}; {}, and {} is compiled anew", attempt.damage,
               removed ? "it is removed" : fmt::format("it can't be removed ({})", describe_errno(errno)),
               attempt.label);
}

std::string CompileCache::store(const Attempt& attempt, std::span<const std::byte> payload) {
  if (payload.size() > limits_.bytes)
    return fmt::format("it has {}, the compile cache may have {}", format_bytes(payload.size()),
                       format_bytes(limits_.bytes));
  sweep_once();
  const EntryHeader header = make_entry_header(attempt.key, attempt.label, payload);
  std::error_code error;
  for (int tries = 0; tries < 2; ++tries) {  // twice, should somebody remove the folder just now
    fs::create_directories(attempt.file.parent_path(), error);
    if (!error) error = write_entry(attempt.file, header, payload);
    if (error.value() != ENOENT) break;
  }
  if (error) return note_failure(error);
  {
    const std::scoped_lock lock(mutex_);
    used_.insert(attempt.file.filename().string());
  }
  prune_to_limit();
  return "";
}

// Before the first entry is written: what dead processes left may be all that fills the disk.
void CompileCache::sweep_once() {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(swept_, true)) return;
  }
  try {
    sweep_cache_folder(folder_);
  } catch (const Error& error) {
    log::debug("{}", error.what());  // storing will say it
  }
}

void CompileCache::prune_to_limit() {
  try {
    const auto pruned = prune(limits_.bytes);
    if (pruned.removed > 0)
      log::debug("compile cache {}: {} of the least recently used removed", display(folder_), pruned.removed);
  } catch (const Error& error) {
    log::warning("the compile cache can't be kept to its limit: {}", error.what());
  }
}

std::string CompileCache::note_failure(std::error_code error) {
  const std::string cause = describe_errno(error.value());
  if (tell_once(error.value())) {
    if (has_no_locks(error))
      log::warning(
          "compile cache {}: the file system has no locks ({}): processes that want one program each compile "
          "it",
          display(folder_), cause);
    else
      log::warning("compile cache {} can't be written: {}; what is in it is used, new programs are not kept",
                   display(folder_), cause);
  }
  return fmt::format("the compile cache {} can't be written: {}", display(folder_), cause);
}

void CompileCache::note_unmarked(std::error_code error) {
  if (tell_once(-error.value()))
    log::info("compile cache {} is used as it is, without a record of what was used when: {}",
              display(folder_), describe_errno(error.value()));
}

bool CompileCache::tell_once(int what) {
  const std::scoped_lock lock(mutex_);
  return told_.insert(what).second;
}

}  // namespace perfuse::runtime
