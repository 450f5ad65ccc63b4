// Hits, misses and their reasons, what is stored, how large the cache gets.
#include "perfuse/runtime/compile_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>

#include "perfuse/core/error.h"
#include "tests/runtime/compile_cache_support.h"

namespace perfuse::runtime::test {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

constexpr auto kDay = std::chrono::hours(24);

// The time of last use of the entry of `key`, from now.
void set_age(const CompileCache& cache, const CacheKey& key, std::chrono::seconds age) {
  const timespec t{::time(nullptr) - age.count(), 0};
  const timespec times[2] = {t, t};
  ASSERT_EQ(::utimensat(AT_FDCWD, (cache.folder() / entry_path(key)).c_str(), times, 0), 0);
}

bool has(const CompileCache& cache, const CacheKey& key) {
  return fs::exists(cache.folder() / entry_path(key));
}

std::uint64_t size_of(const CompileCache& cache, const CacheKey& key) {
  return fs::file_size(cache.folder() / entry_path(key));
}

TEST(CompileCache, CompilesOnceAndFindsAgain) {
  const ScratchFolder folder;
  CompileCache cache(folder / "a/b/compiled");
  const auto first = fetch(cache, key_of("p"), "machine code");
  EXPECT_TRUE(is_stored(first));
  EXPECT_EQ(first.fetch.miss_reason, "never compiled");
  EXPECT_TRUE(is_hit(fetch(cache, key_of("p"), "other"), "machine code"));
  CompileCache next_process(folder / "a/b/compiled");
  EXPECT_TRUE(is_hit(fetch(next_process, key_of("p"), "other"), "machine code"));
  EXPECT_TRUE(is_stored(fetch(cache, key_of("q"))));
}

TEST(CompileCache, LeavesOnlyTheEntry) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  EXPECT_EQ(folder.entries(), 0u);  // nothing before there is something to keep
  (void)fetch(cache, key_of("p"));
  const auto files = files_in(folder.path());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0], entry_path(key_of("p")));
  const std::string program = key_of("p").program;
  EXPECT_TRUE(files[0].starts_with(program.substr(0, 2) + "/" + program.substr(0, 16) + "-"));
  EXPECT_TRUE(files[0].ends_with(hash_of(key_of("p")) + ".pfc"));
}

TEST(CompileCache, PayloadsOfAnyBytesAndSize) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  std::string all(3'000'001, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i * 2654435761u >> 13);
  EXPECT_TRUE(is_stored(fetch(cache, key_of("large"), all)));
  EXPECT_TRUE(is_hit(fetch(cache, key_of("large")), all));
  EXPECT_TRUE(is_stored(fetch(cache, key_of("one"), "x")));
  EXPECT_TRUE(is_hit(fetch(cache, key_of("one")), "x"));
}

TEST(CompileCache, PayloadIsAligned) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  for (const std::string options : {"", "-O1", "-O1 --some-longer-option=12345678901234567890"}) {
    auto key = key_of("p");
    key.options = options;
    (void)fetch(cache, key);
    (void)cache.fetch(
        key, "",
        [](std::span<const std::byte> payload) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 64, 0u);
          return true;
        },
        [] { return std::vector<std::byte>(); });
  }
}

TEST(CompileCache, WhatCantBeStoredIsCompiledEachTime) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  for (int i = 0; i < 2; ++i) {
    const auto call = fetch(cache, key_of("p"), "");
    EXPECT_FALSE(call.hit());
    EXPECT_EQ(call.compiles, 1);
    EXPECT_FALSE(call.fetch.stored);
    EXPECT_EQ(call.fetch.not_stored_reason, "the compiler gives no result that could be stored");
  }
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(CompileCache, AFailedCompileLeavesNothingAndBlocksNothing) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(message_of(ErrorKind::compiler,
                         [&] {
                           (void)cache.fetch(
                               key_of("p"), "block", [](auto) { return true; },
                               []() -> std::vector<std::byte> { fail(ErrorKind::compiler, "too large"); });
                         }),
              "too large");
  EXPECT_TRUE(files_in(folder.path()).empty());
  EXPECT_TRUE(is_stored(fetch(cache, key_of("p"))));
}

TEST(CompileCache, AMissSaysWhatDiffers) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  (void)fetch(cache, key_of("p"));
  auto other = key_of("p");
  other.compiler = "cpu plugin 0.106 0a0fe56c";
  EXPECT_EQ(fetch(cache, other, "").fetch.miss_reason,
            "the same program was compiled by another compiler (cpu plugin 0.115 ad1309ac; now: cpu plugin "
            "0.106 0a0fe56c)");
  other = key_of("p");
  other.target = "cpu avx512";
  EXPECT_EQ(fetch(cache, other, "").fetch.miss_reason,
            "the same program was compiled for another target (cpu avx2; now: cpu avx512)");
  other = key_of("p");
  other.options = "";
  EXPECT_EQ(fetch(cache, other, "").fetch.miss_reason,
            "the same program was compiled with other options (-O2; now: none)");
  other.backend = "neuron";
  EXPECT_EQ(fetch(cache, other, "").fetch.miss_reason,
            "the same program was compiled by another backend (pjrt; now: neuron), with other options (-O2; "
            "now: none)");
  EXPECT_EQ(fetch(cache, key_of("q"), "").fetch.miss_reason, "never compiled");
}

TEST(CompileCache, AMissNamesTheNearestEntry) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  auto far = key_of("p");
  far.compiler = "x 1";
  far.target = "trn2";
  (void)fetch(cache, far);
  auto near = key_of("p");
  near.options = "-O3";
  (void)fetch(cache, near);
  EXPECT_TRUE(
      contains(fetch(cache, key_of("p"), "").fetch.miss_reason, "with other options (-O3; now: -O2)"));
  far.options = "-O1";  // both differ from `far` in one part or three
  EXPECT_TRUE(contains(fetch(cache, far, "").fetch.miss_reason, "with other options (-O2; now: -O1)"));
}

TEST(CompileCache, TextThatMovesBetweenPartsIsAnotherKey) {
  auto a = key_of("p"), b = key_of("p");
  a.target = "x\noptions";
  a.options = "y";
  b.target = "x";
  b.options = "options\ny";
  EXPECT_NE(hash_of(a), hash_of(b));
  a = b = key_of("p");
  a.compiler = "ab";
  a.target = "c";
  b.compiler = "a";
  b.target = "bc";
  EXPECT_NE(hash_of(a), hash_of(b));
}

TEST(CompileCache, RefusesImpossibleKeys) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  const auto refused = [&](const CacheKey& key) {
    return message_of(ErrorKind::usage, [&] { (void)fetch(cache, key); });
  };
  for (const std::string program : {"", "0123", "../../../../etc/passwd", "0123456789ABCDEF"}) {
    auto key = key_of("p");
    key.program = program;
    EXPECT_TRUE(contains(refused(key), "the key of transformer block: program: expected 16 to 128"));
  }
  auto key = key_of("p");
  key.target = "\xff";
  EXPECT_TRUE(contains(refused(key), R"(target: "\xff" is not valid UTF-8)"));
}

TEST(CompileCache, AnyLabelWillDo) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  (void)cache.fetch(
      key_of("p"), "a\n\"\xff\x01", [](auto) { return true; }, [] { return bytes_of("x"); });
  const auto list = cache.verify();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].problem, "");
  EXPECT_EQ(list[0].header.label, "a\n\"\xef\xbf\xbd\x01");
}

TEST(CompileCache, ListsMostRecentlyUsedFirst) {
  const ScratchFolder folder;
  CompileCache cache(folder.path());
  EXPECT_TRUE(cache.list().empty());
  for (const std::string name : {"a", "b", "c"}) (void)fetch(cache, key_of(name), "code of " + name);
  set_age(cache, key_of("a"), std::chrono::seconds(20));
  set_age(cache, key_of("b"), std::chrono::seconds(10));
  set_age(cache, key_of("c"), std::chrono::seconds(30));
  const auto list = cache.list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].header.key, key_of("b"));
  EXPECT_EQ(list[1].header.key, key_of("a"));
  EXPECT_EQ(list[2].header.key, key_of("c"));
  EXPECT_EQ(list[0].header.label, "transformer block");
  EXPECT_EQ(list[0].header.payload_bytes, 9u);
  EXPECT_EQ(list[0].bytes, size_of(cache, key_of("b")));
  EXPECT_TRUE(list[0].header.tried);
  EXPECT_EQ(list[0].header.created.size(), std::string("2026-12-04T21:57:03Z").size());
}

// --- Size ---------------------------------------------------------------------------------------------------------

TEST(CompileCacheSize, StoringRemovesTheLeastRecentlyUsed) {
  const ScratchFolder folder;
  std::uint64_t entry_bytes = 0;
  {
    CompileCache filler(folder.path());
    for (int i = 0; i < 5; ++i) (void)fetch(filler, key_of(std::to_string(i)), std::string(10'000, 'x'));
    for (int i = 0; i < 5; ++i) set_age(filler, key_of(std::to_string(i)), std::chrono::hours(10 - i));
    entry_bytes = size_of(filler, key_of("0"));
  }
  CompileCache cache(folder.path(), {.bytes = 4 * entry_bytes});
  EXPECT_TRUE(fetch(cache, key_of("0")).hit());  // the oldest becomes the newest
  EXPECT_TRUE(is_stored(fetch(cache, key_of("new"), std::string(10'000, 'x'))));
  for (const auto& [name, stays] :
       {std::pair{"0", true}, {"1", false}, {"2", false}, {"3", true}, {"4", true}, {"new", true}})
    EXPECT_EQ(has(cache, key_of(name)), stays) << name;
}

TEST(CompileCacheSize, WhatThisProcessUsesStays) {
  const ScratchFolder folder;
  CompileCache cache(folder.path(), {.bytes = 12'000});
  for (int i = 0; i < 4; ++i)
    EXPECT_TRUE(is_stored(fetch(cache, key_of(std::to_string(i)), std::string(10'000, 'x'))));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(has(cache, key_of(std::to_string(i))));
  const auto pruned = cache.prune(0);
  EXPECT_EQ(pruned.removed, 0u);
  EXPECT_EQ(pruned.kept, 4u);
  CompileCache next_process(folder.path(), {.bytes = 12'000});
  EXPECT_EQ(next_process.prune(next_process.limits().bytes).removed, 3u);
}

TEST(CompileCacheSize, WhatIsLargerThanTheLimitIsNotStored) {
  const ScratchFolder folder;
  CompileCache cache(folder.path(), {.bytes = 5'000});
  const auto call = fetch(cache, key_of("p"), std::string(10'000, 'x'));
  EXPECT_FALSE(call.fetch.stored);
  EXPECT_EQ(call.fetch.not_stored_reason, "it has 10 KB, the compile cache may have 5 KB");
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(CompileCacheSize, PruneTakesALimitAndAnAge) {
  const ScratchFolder folder;
  {
    CompileCache filler(folder.path());
    for (int i = 0; i < 6; ++i) {
      (void)fetch(filler, key_of(std::to_string(i)), std::string(10'000, 'x'));
      set_age(filler, key_of(std::to_string(i)), i * kDay);
    }
  }
  CompileCache cache(folder.path());
  const auto bytes = size_of(cache, key_of("0"));
  auto pruned = cache.prune(std::nullopt, 7 * kDay);
  EXPECT_EQ(pruned.removed, 0u);
  EXPECT_EQ(pruned.kept_bytes, 6 * bytes);
  pruned = cache.prune(std::nullopt, 4 * kDay - std::chrono::hours(1));
  EXPECT_EQ(pruned.removed, 2u);
  EXPECT_EQ(pruned.removed_bytes, 2 * bytes);
  EXPECT_FALSE(has(cache, key_of("4")));
  EXPECT_TRUE(has(cache, key_of("3")));
  pruned = cache.prune(2 * bytes + 1, 4 * kDay);
  EXPECT_EQ(pruned.removed, 2u);
  EXPECT_EQ(pruned.kept, 2u);
  EXPECT_TRUE(has(cache, key_of("0")));
  EXPECT_TRUE(has(cache, key_of("1")));
  EXPECT_EQ(cache.prune(0).removed, 2u);
  EXPECT_EQ(cache.prune(0).removed, 0u);
}

TEST(CompileCacheSize, AClockThatWasSetBackDoesNotMisleadIt) {
  const ScratchFolder folder;
  std::uint64_t bytes = 0;
  {
    CompileCache filler(folder.path());
    for (const std::string name : {"future 1", "future 2", "used since"})
      (void)fetch(filler, key_of(name), std::string(10'000, 'x'));
    set_age(filler, key_of("future 1"), -3000 * kDay);
    set_age(filler, key_of("future 2"), -2000 * kDay);
    set_age(filler, key_of("used since"), kDay);
    bytes = size_of(filler, key_of("used since"));
  }
  CompileCache cache(folder.path());
  EXPECT_EQ(cache.prune(std::nullopt, std::chrono::hours(1)).removed, 1u);  // of unknown age: kept
  EXPECT_TRUE(has(cache, key_of("future 1")));
  EXPECT_TRUE(is_hit(fetch(cache, key_of("future 1")), std::string(10'000, 'x')));
  EXPECT_TRUE(is_stored(fetch(cache, key_of("new"), std::string(10'000, 'x'))));
  CompileCache next(folder.path());
  EXPECT_EQ(next.prune(2 * bytes).removed, 1u);  // by the clock, "future 2" would be the last to go
  EXPECT_FALSE(has(cache, key_of("future 2")));
  set_age(next, key_of("new"), -std::chrono::hours(24 * 365 * 500));  // beyond 64 bits of nanoseconds
  EXPECT_EQ(next.list().size(), 2u);
  EXPECT_EQ(next.prune(bytes).removed, 1u);
  EXPECT_FALSE(has(cache, key_of("new")));
}

TEST(CompileCacheSize, OtherFilesAreNobodysBusiness) {
  const ScratchFolder folder;
  const std::vector<std::string> others{"README", "ab/notes.txt", "ab/.hidden.tmp", "abc/x.pfc", "x.pfc"};
  for (const auto& name : others) folder.write(name, "mine");
  {
    CompileCache filler(folder.path());
    (void)fetch(filler, key_of("p"));
  }
  CompileCache cache(folder.path());
  EXPECT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.prune(0).removed, 1u);
  for (const auto& name : others) EXPECT_TRUE(fs::exists(folder / name)) << name;
}

TEST(CompileCacheSize, TwoProcessesPruneAtOnce) {
  const ScratchFolder folder;
  std::uint64_t bytes = 0;
  {
    CompileCache filler(folder.path());
    for (int i = 0; i < 60; ++i) {
      (void)fetch(filler, key_of(std::to_string(i)), std::string(1'000, 'x'));
      set_age(filler, key_of(std::to_string(i)), std::chrono::minutes(i));
    }
    bytes = size_of(filler, key_of("0"));
  }
  const SharedCounter ready;
  std::vector<Child> children;
  for (int c = 0; c < 2; ++c)
    children.emplace_back([&] {
      CompileCache cache(folder.path());
      ++*ready;
      ready.wait_for(2);
      return cache.prune(20 * bytes).failed.empty() ? 0 : 1;
    });
  for (auto& child : children) EXPECT_EQ(child.wait(), 0);
  CompileCache cache(folder.path());
  EXPECT_EQ(cache.list().size(), 20u);  // not fewer: what one removed the other did not count as left
  for (int i = 0; i < 60; ++i) EXPECT_EQ(has(cache, key_of(std::to_string(i))), i < 20) << i;
}

// --- Which folder, which limit --------------------------------------------------------------------------------------

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"PERFUSE_CACHE_DIR", "PERFUSE_CACHE_LIMIT", "XDG_CACHE_HOME"}) ::unsetenv(name);
    ::setenv("HOME", "/home/u", 1);
  }
};

TEST_F(Environment, ChoosesTheFolder) {
  EXPECT_EQ(compile_cache_folder(), "/home/u/.cache/perfuse/compiled");
  ::setenv("XDG_CACHE_HOME", "not/absolute", 1);
  EXPECT_EQ(compile_cache_folder(), "/home/u/.cache/perfuse/compiled");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(compile_cache_folder(), "/xdg/perfuse/compiled");
  ::setenv("PERFUSE_CACHE_DIR", "", 1);
  EXPECT_EQ(compile_cache_folder(), "/xdg/perfuse/compiled");
  ::setenv("PERFUSE_CACHE_DIR", "here", 1);
  EXPECT_EQ(compile_cache_folder(), "here");
  EXPECT_EQ(compile_cache_folder("there"), "there");
  EXPECT_EQ(compile_cache_folder("none"), std::nullopt);
  ::setenv("PERFUSE_CACHE_DIR", "none", 1);
  EXPECT_EQ(compile_cache_folder(), std::nullopt);
  EXPECT_EQ(compile_cache_folder("there"), "there");
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [] { (void)compile_cache_folder(""); }),
                       "--cache-dir: expected a folder"));
}

TEST_F(Environment, WithoutAHomeItIsOffAndSaysSo) {
  ::unsetenv("HOME");
  const LogCapture log;
  EXPECT_EQ(compile_cache_folder(), std::nullopt);
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_TRUE(contains(log.warnings()[0], "set PERFUSE_CACHE_DIR"));
}

TEST_F(Environment, ChoosesTheLimit) {
  EXPECT_EQ(compile_cache_limit(), 20ull << 30);
  ::setenv("PERFUSE_CACHE_LIMIT", "3MB", 1);
  EXPECT_EQ(compile_cache_limit(), 3'000'000u);
  EXPECT_EQ(CompileCache("x").limits().bytes, 3'000'000u);
  ::setenv("PERFUSE_CACHE_LIMIT", "3", 1);
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [] { (void)compile_cache_limit(); }),
                       "PERFUSE_CACHE_LIMIT: expected a size"));
}

TEST_F(Environment, ARelativeFolderStaysWhereItWas) {
  const ScratchFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  CompileCache cache("compiled");
  fs::current_path(before);
  EXPECT_TRUE(is_stored(fetch(cache, key_of("p"))));
  EXPECT_TRUE(fs::exists(folder / "compiled"));
}

}  // namespace
}  // namespace perfuse::runtime::test
