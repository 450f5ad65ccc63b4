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

// Terms of a sum after which a block of the result moves on, so that the right factors (96 × 64 floats) stay in L1.
constexpr std::int64_t kTerms = 96;

// ROWS × VECTORS sums over k of left(row, k) · right[k], in registers. left(row, k) is left[row · row_step + k · step].
// They replace `result`, or are added to `scale` times it, or to it.
enum class Into { replace, scaled, add };
template <int ROWS, int VECTORS>
HWY_INLINE void multiply_block(const float* HWY_RESTRICT left, std::int64_t row_step, std::int64_t step,
                               const float* HWY_RESTRICT right, std::int64_t count, Into into,
                               const float* scale, float* HWY_RESTRICT result) {
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
      if (into == Into::scaled) sum = hn::MulAdd(hn::LoadU(d, to), hn::LoadU(d, scale + v * lanes), sum);
      if (into == Into::add) sum = hn::Add(hn::LoadU(d, to), sum);
      hn::StoreU(sum, d, to);
    }
}

// The same for any number of rows and terms.
template <int VECTORS>
void multiply(const float* left, std::int64_t rows, std::int64_t row_step, std::int64_t step,
              const float* right, std::int64_t count, const float* scale, float* result) {
  const auto width = VECTORS * static_cast<std::int64_t>(hn::Lanes(F32()));
  auto into = scale == nullptr ? Into::replace : Into::scaled;
  for (std::int64_t k = 0; k < count; k += kTerms, into = Into::add) {
    const auto terms = std::min(kTerms, count - k);
    const auto block = [&]<int ROWS>(std::int64_t row) {
      multiply_block<ROWS, VECTORS>(left + row * row_step + k * step, row_step, step, right + k * width,
                                    terms, into, scale, result + row * width);
    };
    std::int64_t row = 0;
    for (; row + kRows <= rows; row += kRows) block.template operator()<kRows>(row);
    switch (rows - row) {
      case 5: block.template operator()<5>(row); break;
      case 4: block.template operator()<4>(row); break;
      case 3: block.template operator()<3>(row); break;
      case 2: block.template operator()<2>(row); break;
      case 1: block.template operator()<1>(row); break;
      default: break;
    }
  }
}

// exp(x) for x ≤ 0, relative error 2e-7; 0 below −87.7 and NaN for NaN. 2^k · 2^f with the polynomial of 2^f on
// |f| ≤ 1/2 (a minimax fit of our own, error 1.6e-8 in exact arithmetic).
HWY_INLINE V exp_negative(V x) {
  const F32 d;
  const hn::RebindToSigned<F32> di;
  const V y = hn::Mul(x, hn::Set(d, 1.44269504f));
  const V clamped = hn::Max(hn::Set(d, -127.0f), y);  // in this order a NaN stays, on x86 too
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

// Bias and causality for one vector of queries: scores += bias, keys that a query may not see become −∞.
HWY_INLINE void mask_scores(const AttentionTile& tile, std::int64_t width, std::int64_t first_query,
                            float* scores) {
  const F32 d;
  const V positions = hn::Iota(d, static_cast<float>(first_query));
  for (std::int64_t t = 0; t < tile.count; ++t) {
    V score = hn::LoadU(d, scores + t * width);
    if (tile.bias != nullptr)
      score = hn::Add(score, tile.bias_width == 1 ? hn::Set(d, tile.bias[t])
                                                  : hn::LoadU(d, tile.bias + t * width + first_query));
    if (t > tile.visible) {
      const V first_seeing = hn::Set(d, static_cast<float>(t - tile.visible));
      score = hn::IfThenElse(hn::Lt(positions, first_seeing), hn::Set(d, -HUGE_VALF), score);
    }
    hn::StoreU(score, d, scores + t * width);
  }
}

// The greatest of each column enters `most`; then scores = exp(scores − most). `correction` is what earlier sums
// must be multiplied with.
template <int VECTORS>
void softmax_tile(const AttentionPanel& panel, const AttentionTile& tile, float* correction) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto width = VECTORS * lanes;
  const bool masks = tile.bias != nullptr || tile.count - 1 > tile.visible;
  for (int v = 0; v < VECTORS; ++v) {
    float* const scores = panel.scores + v * lanes;
    if (masks) mask_scores(tile, width, v * lanes, scores);
    const V before = hn::LoadU(d, panel.most + v * lanes);
    V most = before;
    for (std::int64_t t = 0; t < tile.count; ++t) most = hn::Max(most, hn::LoadU(d, scores + t * width));
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

template <int VECTORS> void add_tile_of(const AttentionPanel& panel, const AttentionTile& tile) {
  alignas(64) float correction[kMostPanelQueries];
  multiply<VECTORS>(tile.keys, tile.count, tile.depth, 1, panel.queries, tile.depth, nullptr, panel.scores);
  softmax_tile<VECTORS>(panel, tile, correction);
  multiply<VECTORS>(tile.values, tile.depth, 1, tile.depth, panel.scores, tile.count, correction,
                    panel.output);
}

void add_tile_dispatch(const AttentionPanel& panel, const AttentionTile& tile) {
  switch (panel.vectors) {
    case 1: return add_tile_of<1>(panel, tile);
    case 2: return add_tile_of<2>(panel, tile);
    case 3: return add_tile_of<std::min(3, kVectors)>(panel, tile);
    default: return add_tile_of<kVectors>(panel, tile);
  }
}

void finish_dispatch(const AttentionPanel& panel, std::int64_t depth) {
  const F32 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto width = panel.vectors * lanes;
  for (std::int64_t at = 0; at < width; at += lanes) {
    const V sum = hn::LoadU(d, panel.sum + at);
    const V factor = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), sum));
    for (std::int64_t row = 0; row < depth; ++row) {
      float* const output = panel.output + row * width + at;
      hn::StoreU(hn::Mul(hn::LoadU(d, output), factor), d, output);
    }
  }
}

#if HWY_MAX_BYTES >= 16
// 4 × 4 values from `from` to their transposed place.
HWY_INLINE void transpose_square(const float* from, std::int64_t from_stride, float scale, float* to,
                                 std::int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;  // of neighbouring floats
  const auto factor = hn::Set(d, scale);
  const auto row = [&](int i) { return hn::Mul(hn::LoadU(d, from + i * from_stride), factor); };
  const auto a = row(0), b = row(1), c = row(2), e = row(3);
  const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
             ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
             ce_high = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ce_low)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ce_high)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ce_high)), d, to + 3 * to_stride);
}
#else
HWY_INLINE void transpose_square(const float* from, std::int64_t from_stride, float scale, float* to,
                                 std::int64_t to_stride) {
  for (int row = 0; row < 4; ++row)
    for (int column = 0; column < 4; ++column)
      to[column * to_stride + row] = from[row * from_stride + column] * scale;
}
#endif

void transpose_dispatch(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                        float scale, float* to, std::int64_t to_stride) {
  const auto squares = rows / 4 * 4, square_columns = columns / 4 * 4;
  for (std::int64_t row = 0; row < squares; row += 4) {
    for (std::int64_t column = 0; column < square_columns; column += 4)
      transpose_square(from + row * from_stride + column, from_stride, scale, to + column * to_stride + row,
                       to_stride);
    for (auto column = square_columns; column < columns; ++column)
      for (auto r = row; r < row + 4; ++r)
        to[column * to_stride + r] = from[r * from_stride + column] * scale;
  }
  for (auto row = squares; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      to[column * to_stride + row] = from[row * from_stride + column] * scale;
}

PanelShape panel_shape_dispatch() { return {static_cast<std::int64_t>(hn::Lanes(F32())), kVectors}; }

}  // namespace
}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(add_tile_dispatch);
HWY_EXPORT(finish_dispatch);
HWY_EXPORT(transpose_dispatch);
HWY_EXPORT(panel_shape_dispatch);

void add_tile(const AttentionPanel& panel, const AttentionTile& tile) {
  HWY_DYNAMIC_DISPATCH(add_tile_dispatch)(panel, tile);
}

void finish(const AttentionPanel& panel, std::int64_t depth) {
  HWY_DYNAMIC_DISPATCH(finish_dispatch)(panel, depth);
}

void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               float scale, float* to, std::int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_dispatch)(from, from_stride, rows, columns, scale, to, to_stride);
}

PanelShape panel_shape() { return HWY_DYNAMIC_DISPATCH(panel_shape_dispatch)(); }

}  // namespace perfuse::cpu
#endif  // HWY_ONCE
