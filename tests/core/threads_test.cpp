#include "perfuse/core/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace perfuse {
namespace {

class Threads : public ::testing::Test {
 protected:
  void TearDown() override { set_num_threads(0); }
};

std::set<std::pair<std::int64_t, std::int64_t>> ranges(std::int64_t count, std::int64_t grain) {
  std::mutex mutex;
  std::set<std::pair<std::int64_t, std::int64_t>> result;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(result.emplace(begin, end).second);
  });
  return result;
}

TEST_F(Threads, CoresAreWithinTheAffinity) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), CPU_COUNT(&set));
}

TEST_F(Threads, ZeroMeansWhatTheProcessBeganWith) {
  const int first = num_threads();
  set_num_threads(first + 3);
  EXPECT_EQ(num_threads(), first + 3);
  set_num_threads(0);
  EXPECT_EQ(num_threads(), first);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    EXPECT_EQ(first, available_cores());
  }
}

TEST_F(Threads, TheNumberHoldsOnEveryThread) {
  set_num_threads(3);
  std::size_t parts = 0;
  int seen = 0, of_openmp = 0;
  std::thread([&] {
    seen = num_threads();
    parts = ranges(30, 1).size();
    apply_num_threads();
    of_openmp = omp_get_max_threads();
  }).join();
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(parts, 3u);
  EXPECT_EQ(of_openmp, 3);
}

TEST_F(Threads, RangesCoverOnceAndDependOnTheNumberOfThreads) {
  set_num_threads(4);
  using Set = std::set<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(ranges(10, 1), (Set{{0, 3}, {3, 6}, {6, 8}, {8, 10}}));
  EXPECT_EQ(ranges(10, 5), (Set{{0, 5}, {5, 10}}));
  EXPECT_EQ(ranges(10, 6), (Set{{0, 10}}));  // fewer than two grains
  EXPECT_EQ(ranges(3, 1), (Set{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(ranges(0, 1), Set{});
  EXPECT_EQ(ranges(-5, 1), Set{});
  EXPECT_EQ(ranges(2, 0), (Set{{0, 1}, {1, 2}}));
  set_num_threads(1);
  EXPECT_EQ(ranges(10, 1), (Set{{0, 10}}));
}

TEST_F(Threads, EveryElementIsVisitedOnce) {
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const std::int64_t count : {1, 2, 7, 1000, 4097}) {
      std::vector<int> visits(static_cast<std::size_t>(count));
      parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::set<int>(visits.begin(), visits.end()), std::set<int>{1});
    }
  }
}

TEST_F(Threads, ExceptionsArriveAfterAllHaveEnded) {
  set_num_threads(4);
  std::atomic<int> ended{0};
  EXPECT_THROW(parallel_for(4, 1,
                            [&](std::int64_t begin, std::int64_t) {
                              ++ended;
                              if (begin % 2 == 1) throw std::runtime_error("odd");
                            }),
               std::runtime_error);
  EXPECT_EQ(ended, 4);
}

TEST_F(Threads, NestedWorkRunsInItsCaller) {
  set_num_threads(2);
  std::atomic<int> inner{0};
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin, 0);
      inner += static_cast<int>(end);
    });
  });
  EXPECT_EQ(inner, 16);
}

}  // namespace
}  // namespace perfuse
