// Speed as GFLOP/s beside what oneDNN's sgemm reaches on this machine at this moment, which a shared machine needs.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace perfuse::bench {

// FLOP/s of a product of 1536³, best of `tries`.
inline double sgemm_peak(int tries = 3) {
  constexpr std::int64_t n = 1536;
  static const std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f);
  static std::vector<float> c(n * n);
  double best = 0;
  for (int i = 0; i < tries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    dnnl_sgemm('N', 'T', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * n * n * n / time.count());
  }
  return best;
}

// Runs `f` as the benchmark; `flop` is the work of one call. Time is the wall's, as all threads work.
// of_sgemm compares the fastest call with sgemm's fastest, before and after.
template <class F> void measure(benchmark::State& state, double flop, const F& f) {
  double peak = sgemm_peak();
  double best = 0;
  f();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count());
    best = std::max(best, flop / time.count());
  }
  peak = std::max(peak, sgemm_peak());
  state.counters["GFLOP/s"] = best / 1e9;
  state.counters["sgemm"] = peak / 1e9;
  state.counters["of_sgemm"] = best / peak;
}

}  // namespace perfuse::bench
