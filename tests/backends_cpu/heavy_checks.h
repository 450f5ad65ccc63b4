// What the tests of linear, conv2d and attention assert.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::cpu::test {

// A sum in double, and the sum of its terms' magnitudes, which bounds what f32 may lose.
struct Expected {
  double value = 0, magnitude = 0;
  void add(double term) { value += term, magnitude += std::abs(term); }
};

// Half a unit in the last place of a value near 1.
inline double unit_roundoff(DType type) {
  return type == DType::bf16 ? 0x1p-8 : type == DType::f16 ? 0x1p-11 : 0x1p-24;
}

// f32 sums of `terms` products err by about √terms roundings of the magnitudes; the result is rounded once.
// A product in bf16 by mistake would err by 2^-8 / √terms of the magnitudes, 30 times this at 1000 terms.
inline void expect_sums(const Tensor& got, const std::vector<Expected>& expected, double terms,
                        double extra = 0) {
  ASSERT_EQ(static_cast<std::size_t>(got.numel()), expected.size());
  const auto values = doubles(got);
  const double f32_error = (8 + 2 * std::sqrt(terms)) * 0x1p-24 + extra;
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double allowed = f32_error * expected[i].magnitude +
                           unit_roundoff(got.dtype()) * std::abs(expected[i].value) * 1.001 + 1e-7;
    const double ratio = std::abs(values[i] - expected[i].value) / allowed;
    if (!(ratio <= worst)) worst = std::isnan(ratio) ? 1e300 : ratio, at = i;
  }
  EXPECT_LE(worst, 1.0) << "at " << at << ": got " << values[at] << ", expected " << expected[at].value;
}

// The same bytes in every run, also with two threads in the kernel at once.
inline void expect_repeatable(const Bench& bench, const Tensor& result) {
  Tensor first, second;
  const int threads = num_threads();  // of this thread; a new one begins with the default
  const auto run = [&](Tensor& to) { set_num_threads(threads), to = bench.run_apart(); };
  std::thread one(run, std::ref(first));
  std::thread two(run, std::ref(second));
  one.join();
  two.join();
  const auto same = [&](const Tensor& other) { return std::ranges::equal(result.bytes(), other.bytes()); };
  EXPECT_TRUE(same(bench.run_apart()));
  EXPECT_TRUE(same(first));
  EXPECT_TRUE(same(second));
}

class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(num_threads()) { set_num_threads(threads); }
  ~ThreadCount() { set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

inline constexpr std::array kFloats{DType::f32, DType::bf16, DType::f16};

}  // namespace perfuse::cpu::test
