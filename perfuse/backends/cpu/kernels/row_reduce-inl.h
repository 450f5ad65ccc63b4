// Sums over a row of f32, to about 1e-7 of the sum of magnitudes whatever the length: f32 lanes over 1024
// elements, double over those blocks.
//
// Compiled once per target: no #pragma once.
#if defined(PERFUSE_ROW_REDUCE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PERFUSE_ROW_REDUCE_INL_H
#undef PERFUSE_ROW_REDUCE_INL_H
#else
#define PERFUSE_ROW_REDUCE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Σ f(x[i]), f from vector to vector. A row's last vector is filled up with `pad`, whose f must be 0.
template <class F> HWY_INLINE double sum_row(const float* x, std::size_t count, float pad, const F& f) {
  using D = hn::ScalableTag<float>;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  double total = 0;
  for (std::size_t begin = 0; begin < count; begin += 1024) {
    const std::size_t end = std::min(begin + 1024, count);
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    std::size_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = hn::Add(s0, f(hn::LoadU(d, x + i)));
      s1 = hn::Add(s1, f(hn::LoadU(d, x + i + lanes)));
      s2 = hn::Add(s2, f(hn::LoadU(d, x + i + 2 * lanes)));
      s3 = hn::Add(s3, f(hn::LoadU(d, x + i + 3 * lanes)));
    }
    for (; i + lanes <= end; i += lanes) s0 = hn::Add(s0, f(hn::LoadU(d, x + i)));
    if (i < end) {
      HWY_ALIGN float tail[hn::MaxLanes(D())];
      for (std::size_t j = 0; j < lanes; ++j) tail[j] = i + j < end ? x[i + j] : pad;
      s1 = hn::Add(s1, f(hn::Load(d, tail)));
    }
    const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  return total;
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
