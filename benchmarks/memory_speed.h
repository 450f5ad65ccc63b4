// Speed as GB/s beside what memcpy of as many bytes reaches on this machine at this moment.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "perfuse/core/threads.h"

namespace perfuse::bench {

template <class F> double seconds(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Bytes read and written per second by a parallel memcpy that moves `bytes` in all, best of some tries.
inline double memcpy_speed(std::int64_t bytes) {
  std::vector<char> from(static_cast<std::size_t>(bytes / 2), 1), to(from.size());
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double time = seconds([&] {
      parallel_for(bytes / 2, 128 * 1024, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
      });
    });
    best = std::max(best, static_cast<double>(bytes) / time);
  }
  return best;
}

// Runs `f`, which reads and writes `bytes` in all if it reads its operands once; the fastest call counts.
template <class F> void measure_memory(benchmark::State& state, std::int64_t bytes, const F& f) {
  double copy = memcpy_speed(bytes);
  double best = 0;
  f();
  for (auto _ : state) {
    const double time = seconds(f);
    state.SetIterationTime(time);
    best = std::max(best, static_cast<double>(bytes) / time);
  }
  copy = std::max(copy, memcpy_speed(bytes));
  state.counters["GB/s"] = best / 1e9;
  state.counters["memcpy"] = copy / 1e9;
  state.counters["of_memcpy"] = best / copy;
}

}  // namespace perfuse::bench
