#include <fmt/format.h>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/linear_combination.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// y = c · x
void scale(float c, const float* x, std::size_t count, float* y) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, c)), d, y + i);
  for (; i < count; ++i) y[i] = c * x[i];
}

// y = y + c · x
void accumulate(float c, const float* x, std::size_t count, float* y) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::MulAdd(hn::LoadU(d, x + i), hn::Set(d, c), hn::LoadU(d, y + i)), d, y + i);
  for (; i < count; ++i) y[i] += c * x[i];
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(scale);
HWY_EXPORT(accumulate);

namespace {

class LinearCombinationKernel final : public Kernel {
 public:
  explicit LinearCombinationKernel(const NodeInfo& node)
      : result_(node.result.dtype), count_(node.result.numel()) {
    for (std::size_t i = 1; i < node.operands.size(); ++i) terms_.push_back(node.operands[i].dtype);
  }

  void run(const KernelArgs& args) const override {
    const float* coefficients = elements<float>(args.operands[0]);
    parallel_for(count_, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) float sums[kBlock], buffer[kBlock];
      for (std::int64_t i = begin; i < end; i += kBlock) {
        const auto n = std::min(kBlock, end - i);
        const auto size = static_cast<std::size_t>(n);
        for (std::size_t k = 0; k < terms_.size(); ++k) {
          const float* x = read_f32(terms_[k], args.operands[k + 1], i, n, buffer);
          if (k == 0)
            HWY_DYNAMIC_DISPATCH(scale)(coefficients[k], x, size, sums);
          else
            HWY_DYNAMIC_DISPATCH(accumulate)(coefficients[k], x, size, sums);
        }
        from_f32(sums, n, result_, args.result + i * static_cast<std::int64_t>(size_of(result_)));
      }
    });
  }

 private:
  DType result_;
  std::int64_t count_;
  std::vector<DType> terms_;
};

Candidate make_linear_combination(const graph::op::LinearCombination&, const NodeInfo& node) {
  if (!is_graph_float(node.result.dtype))
    return fmt::format("{}: takes f32, bf16, f16", to_string(node.result));
  for (const auto& type : node.operands)
    if (!is_graph_float(type.dtype)) return fmt::format("{}: takes f32, bf16, f16", to_string(type));
  return std::make_unique<LinearCombinationKernel>(node);
}

constexpr KernelEntry<graph::op::LinearCombination> kLinearCombination[] = {
    {"simd", make_linear_combination}};

}  // namespace

std::span<const KernelEntry<graph::op::LinearCombination>> kernels(const graph::op::LinearCombination&) {
  return kLinearCombination;
}

}  // namespace perfuse::cpu
#endif
