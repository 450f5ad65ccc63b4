// linear of few rows (a time embedding, a pooled text): each weight is read once, converted in registers and
// multiplied with all rows.
#include <algorithm>
#include <utility>

#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/linear.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"
#include "perfuse/backends/cpu/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/linear_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class D> HWY_INLINE hn::Vec<D> load_f32(D d, const float* from) { return hn::LoadU(d, from); }
template <class D> HWY_INLINE hn::Vec<D> load_f32(D d, const bfloat16* from) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  const auto bits = hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
}
template <class D> HWY_INLINE hn::Vec<D> load_f32(D d, const float16* from) {
  const hn::Rebind<hwy::float16_t, D> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
}

// Σ x[row][i] · weight[i] for M rows of x, into sums[row]. Two sums per row hide the latency of the FMA.
template <int M, class T>
HWY_INLINE void dot_rows(const float* x, std::int64_t k, const T* weight, float* sums) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V even[M], odd[M];
  for (int row = 0; row < M; ++row) even[row] = odd[row] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= k; i += 2 * lanes) {
    const V w0 = load_f32(d, weight + i), w1 = load_f32(d, weight + i + lanes);
    for (int row = 0; row < M; ++row) {
      even[row] = hn::MulAdd(hn::LoadU(d, x + row * k + i), w0, even[row]);
      odd[row] = hn::MulAdd(hn::LoadU(d, x + row * k + i + lanes), w1, odd[row]);
    }
  }
  for (; i + lanes <= k; i += lanes) {
    const V w = load_f32(d, weight + i);
    for (int row = 0; row < M; ++row) even[row] = hn::MulAdd(hn::LoadU(d, x + row * k + i), w, even[row]);
  }
  for (int row = 0; row < M; ++row) {
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even[row], odd[row])));
    for (std::int64_t j = i; j < k; ++j) sum += x[row * k + j] * static_cast<float>(weight[j]);
    sums[row] = sum;
  }
}

// Columns begin … end − 1 of M rows of y, f32, with row stride n.
template <class T>
void multiply_columns(int m, const float* x, std::int64_t k, const T* weight, const float* bias,
                      std::int64_t n, std::int64_t begin, std::int64_t end, float* y) {
  for (std::int64_t column = begin; column < end; ++column) {
    float sums[4];
    const T* row = weight + column * k;
    switch (m) {
      case 1: dot_rows<1>(x, k, row, sums); break;
      case 2: dot_rows<2>(x, k, row, sums); break;
      case 3: dot_rows<3>(x, k, row, sums); break;
      default: dot_rows<4>(x, k, row, sums); break;
    }
    for (int i = 0; i < m; ++i) y[i * n + column] = bias == nullptr ? sums[i] : sums[i] + bias[column];
  }
}

void few_rows(DType type, int m, const float* x, std::int64_t k, const std::byte* weight, const float* bias,
              std::int64_t n, std::int64_t begin, std::int64_t end, float* y) {
  switch (type) {
    case DType::bf16: return multiply_columns(m, x, k, elements<bfloat16>(weight), bias, n, begin, end, y);
    case DType::f16: return multiply_columns(m, x, k, elements<float16>(weight), bias, n, begin, end, y);
    default: return multiply_columns(m, x, k, elements<float>(weight), bias, n, begin, end, y);
  }
}

}  // namespace
}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {
namespace {

HWY_EXPORT(few_rows);

constexpr std::int64_t kMostRows = 4;

class RowsLinear final : public Kernel {
 public:
  explicit RowsLinear(const LinearNode& node) : node_(node) {
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    ScratchLayout scratch;
    x_ = scratch.add(node.x == DType::f32 ? 0 : floats(node.m * node.k));
    result_ = scratch.add(node.result == DType::f32 ? 0 : floats(node.m * node.n));
    bias_ = scratch.add(node.bias && *node.bias != DType::f32 ? floats(node.n) : 0);
    scratch_bytes_ = scratch.bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const KernelArgs& args) const override {
    const float* x =
        read_f32(node_.x, args.operands[0], 0, node_.m * node_.k, elements<float>(args.scratch + x_));
    const float* bias = nullptr;
    if (node_.bias)
      bias = read_f32(*node_.bias, args.operands[2], 0, node_.n, elements<float>(args.scratch + bias_));
    float* y = target_f32(node_.result, args.result, 0, elements<float>(args.scratch + result_));
    const auto grain = std::max<std::int64_t>(1, kMemoryGrain / std::max<std::int64_t>(node_.k, 1));
    parallel_for(node_.n, grain, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(few_rows)
      (node_.weight, static_cast<int>(node_.m), x, node_.k, args.operands[1], bias, node_.n, begin, end, y);
    });
    store_f32(node_.result, args.result, 0, node_.m * node_.n, y);
  }

 private:
  LinearNode node_;
  std::size_t x_ = 0, result_ = 0, bias_ = 0, scratch_bytes_ = 0;
};

}  // namespace

Candidate make_linear_rows(const graph::op::Linear&, const NodeInfo& info) {
  const LinearNode node = linear_node(info);
  if (node.m == 0) return "empty";
  if (node.m > kMostRows) return fmt::format("{} rows, it takes {}", node.m, kMostRows);
  return std::make_unique<RowsLinear>(node);
}

}  // namespace perfuse::cpu
#endif  // HWY_ONCE
