// What the tests of the compile cache share: keys, a compiler that counts, the log's messages, child processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "perfuse/core/log.h"
#include "perfuse/core/sha256.h"
#include "perfuse/runtime/compile_cache.h"
#include "tests/support/scratch.h"

namespace perfuse::runtime::test {

namespace fs = std::filesystem;

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline CacheKey key_of(const std::string& program) {
  return {sha256_hex(bytes_of(program)), "pjrt", "cpu plugin 0.115 ad1309ac", "cpu avx2", "-O2"};
}

// One call of fetch() with what it did: which payload was loaded, how often was compiled.
struct Call {
  CompileCache::Fetch fetch;
  std::string loaded;
  int compiles = 0;
  [[nodiscard]] bool hit() const { return fetch.outcome == CompileCache::Outcome::hit; }
};

inline Call fetch(CompileCache& cache, const CacheKey& key, const std::string& payload = "payload") {
  Call call;
  call.fetch = cache.fetch(
      key, "transformer block",
      [&](std::span<const std::byte> bytes) {
        call.loaded = text_of(bytes);
        return true;
      },
      [&] {
        ++call.compiles;
        return bytes_of(payload);
      });
  return call;
}

inline ::testing::AssertionResult is_hit(const Call& call, const std::string& payload = "payload") {
  if (call.hit() && call.compiles == 0 && call.loaded == payload && call.fetch.miss_reason.empty())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "compiled " << call.compiles << " times (" << call.fetch.miss_reason
                                       << "), loaded \"" << call.loaded << "\"";
}

inline ::testing::AssertionResult is_stored(const Call& call) {
  if (!call.hit() && call.compiles == 1 && call.fetch.stored && call.fetch.not_stored_reason.empty())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "hit: " << call.hit() << ", compiled " << call.compiles
                                       << " times, not stored: " << call.fetch.not_stored_reason;
}

// Everything below `folder` but folders, as paths seen from it.
inline std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (!entry.is_directory()) names.push_back(fs::relative(entry.path(), folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

// Keeps the log's messages while it lives.
class LogCapture {
 public:
  explicit LogCapture(log::Level level = log::Level::info) {
    log::set_level(level);
    log::set_sink([this](log::Level l, std::string_view message) {
      const std::scoped_lock lock(mutex_);
      messages_.emplace_back(l, message);
    });
  }
  ~LogCapture() {
    log::set_sink({});
    log::set_level(log::Level::info);
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  [[nodiscard]] std::vector<std::string> of(log::Level level) const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> texts;
    for (const auto& [l, text] : messages_)
      if (l == level) texts.push_back(text);
    return texts;
  }
  [[nodiscard]] std::vector<std::string> warnings() const { return of(log::Level::warning); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<log::Level, std::string>> messages_;
};

// A number that parent and children share.
class SharedCounter {
 public:
  SharedCounter() {
    void* memory =
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    value_ = new (memory) std::atomic<int>(0);
  }
  ~SharedCounter() { ::munmap(value_, sizeof(*value_)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  std::atomic<int>& operator*() const { return *value_; }
  void wait_for(int value) const {
    while (value_->load() < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<int>* value_;
};

// Runs `body` in a child process; its status is what body returns, 100 if it throws.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ < 0) throw std::runtime_error("no child process");
    if (pid_ > 0) return;
    int status = 100;
    try {
      status = body();
    } catch (const std::exception& error) {
      fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(status);
  }
  ~Child() {
    if (pid_ > 0) (void)wait();
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  void kill() const { ::kill(pid_, SIGKILL); }
  // The exit status, or 128 + the signal that ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
};

}  // namespace perfuse::runtime::test
