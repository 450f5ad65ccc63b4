#include "perfuse/backends/cpu/kernels/attention_tile.h"

#include <algorithm>
#include <cfloat>

#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/attention_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::CappedTag<float, 16>;
using V = hn::Vec<F32>;
// 6 rows × 4 vectors of sums fill 24 of AVX-512's (and Arm's) 32 registers, 6 × 2 fill 12 of AVX2's 16.
constexpr int kVectors = HWY_TARGET == HWY_AVX2 || HWY_MAX_BYTES < 16 ? 2 : 4;
constexpr int kRows = 6;
static_assert(kVectors * hn::MaxLanes(F32()) <= kMostPanelQueries);

// ROWS × VECTORS sums over k of left(row, k) · right[k], in registers. left(row, k) is left[row · row_step + k · step].
// They replace `result`, or are added to `scale` times it.
template <int ROWS, int VECTORS>
HWY_INLINE void multiply_block(const float* HWY_RESTRICT left, std::int64_t row_step, std::int64_t step,
                               const float* HWY_RESTRICT right, std::int64_t count, const float* scale,
                               float* HWY_RESTRICT result) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto width = VECTORS * lanes;
  V sums[ROWS][VECTORS];
#pragma GCC unroll 8
  for (int row = 0; row < ROWS; ++row)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) sums[row][v] = hn::Zero(d);
  for (std::int64_t k = 0; k < count; ++k) {
    V factors[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) factors[v] = hn::LoadU(d, right + k * width + v * lanes);
#pragma GCC unroll 8
    for (int row = 0; row < ROWS; ++row) {
      const V one = hn::Set(d, left[row * row_step + k * step]);
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; ++v) sums[row][v] = hn::MulAdd(one, factors[v], sums[row][v]);
    }
  }
#pragma GCC unroll 8
  for (int row = 0; row < ROWS; ++row)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; ++v) {
      float* to = result + row * width + v * lanes;
      V sum = sums[row][v];
      if (scale != nullptr) sum = hn::MulAdd(hn::LoadU(d, to), hn::LoadU(d, scale + v * lanes), sum);
      hn::StoreU(sum, d, to);
    }
}

// The same for any number of rows.
template <int VECTORS>
void multiply(const float* left, std::int64_t rows, std::int64_t row_step, std::int64_t step, const float* right,
              std::int64_t count, const float* scale, float* result) {
  const auto width = VECTORS * static_cast<std::int64_t>(hn::Lanes(F32()));
  const auto block = [&]<int ROWS>(std::int64_t row) {
    multiply_block<ROWS, VECTORS>(left + row * row_step, row_step, step, right, count, scale, result + row * width);
  };
  std::int64_t row = 0;
  for (; row + kRows <= rows; row += kRows) block.template operator()<kRows>(row);
  switch (rows - row) {
    case 5: return block.template operator()<5>(row);
    case 4: return block.template operator()<4>(row);
    case 3: return block.template operator()<3>(row);
    case 2: return block.template operator()<2>(row);
    case 1: return block.template operator()<1>(row);
    default: return;
  }
}

// exp(x) for x ≤ 0, relative error 2e-7; 0 below −87.7 and NaN for NaN. 2^k · 2^f with the polynomial of 2^f on
// |f| ≤ 1/2 (a minimax fit of our own, error 1.6e-8 in exact arithmetic).
HWY_INLINE V exp_negative(V x) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const V y = hn::Mul(x, hn::Set(d, 1.44269504f));
  const V clamped = hn::IfThenElse(hn::Lt(y, hn::Set(d, -127.0f)), hn::Set(d, -127.0f), y);
  const V k = hn::Round(clamped);
  const V f = hn::Sub(clamped, k);
  V p = hn::Set(d, 1.5353362e-4f);
  p = hn::MulAdd(p, f, hn::Set(d, 1.33988739e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.61843692e-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 5.55033237e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 2.40226477e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 6.93147182e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, k), hn::Set(di, 127)));
  return hn::Mul(p, hn::BitCast(d, exponent));
}

// scores += bias, keys that a query may not see become −∞, and the greatest of each column enters `most`;
// then scores = exp(scores − most). `correction` is what earlier sums must be multiplied with.
template <int VECTORS>
void softmax_tile(const AttentionPanel& panel, const AttentionTile& tile, float* correction) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto width = VECTORS * lanes;
  for (int v = 0; v < VECTORS; ++v) {
    float* const scores = panel.scores + v * lanes;
    const V before = hn::LoadU(d, panel.most + v * lanes);
    const V positions = hn::Iota(d, static_cast<float>(v * lanes));
    V most = before;
    for (std::int64_t t = 0; t < tile.count; ++t) {
      V score = hn::LoadU(d, scores + t * width);
      if (tile.bias != nullptr)
        score = hn::Add(score, tile.bias_width == 1 ? hn::Set(d, tile.bias[t])
                                                    : hn::LoadU(d, tile.bias + t * width + v * lanes));
      if (t > tile.visible) {
        const V first_seeing = hn::Set(d, static_cast<float>(t - tile.visible));
        score = hn::IfThenElse(hn::Lt(positions, first_seeing), hn::Set(d, -HUGE_VALF), score);
      }
      hn::StoreU(score, d, scores + t * width);
      most = hn::Max(most, score);
    }
    hn::StoreU(most, d, panel.most + v * lanes);
    const V factor = exp_negative(hn::Sub(before, most));
    hn::StoreU(factor, d, correction + v * lanes);
    V sum = hn::Mul(hn::LoadU(d, panel.sum + v * lanes), factor);
    for (std::int64_t t = 0; t < tile.count; ++t) {
      const V weight = exp_negative(hn::Sub(hn::LoadU(d, scores + t * width), most));
      hn::StoreU(weight, d, scores + t * width);
      sum = hn::Add(sum, weight);
    }
    hn::StoreU(sum, d, panel.sum + v * lanes);
  }
}

template <int VECTORS>
void add_tile_of(const AttentionPanel& panel, const AttentionTile& tile) {
  alignas(64) float correction[kMostPanelQueries];
  multiply<VECTORS>(tile.keys, tile.count, tile.depth, 1, panel.queries, tile.depth, nullptr, panel.scores);
  softmax_tile<VECTORS>(panel, tile, correction);
  multiply<VECTORS>(tile.values, tile.depth, 1, tile.depth, panel.scores, tile.count, correction, panel.output);
}

void add_tile_dispatch(const AttentionPanel& panel, const AttentionTile& tile) {
  switch (panel.vectors) {
    case 1: return add_tile_of<1>(panel, tile);
    case 2: return add_tile_of<2>(panel, tile);
    case 3: return add_tile_of<std::min(3, kVectors)>(panel, tile);
    default: return add_tile_of<kVectors>(panel, tile);
  }
}

PanelShape panel_shape_dispatch() { return {static_cast<std::int64_t>(hn::Lanes(F32())), kVectors}; }

}  // namespace
}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(add_tile_dispatch);
HWY_EXPORT(panel_shape_dispatch);

void add_tile(const AttentionPanel& panel, const AttentionTile& tile) {
  HWY_DYNAMIC_DISPATCH(add_tile_dispatch)(panel, tile);
}

PanelShape panel_shape() { return HWY_DYNAMIC_DISPATCH(panel_shape_dispatch)(); }

}  // namespace perfuse::cpu
#endif  // HWY_ONCE
