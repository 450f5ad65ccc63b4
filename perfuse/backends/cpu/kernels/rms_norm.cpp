#include <fmt/format.h>

#include <cmath>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/rms_norm.cpp"
#include <hwy/foreach_target.h>

#include "perfuse/backends/cpu/kernels/row_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

}  // namespace

// y = x / sqrt(mean(x²) + eps)
void rms_quotients(const float* x, std::size_t channels, double eps, float* y) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const double squares = sum_row(x, channels, 0.0f, [](V v) HWY_ATTR { return hn::Mul(v, v); });
  const auto factor = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(channels) + eps));
  const V f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= channels; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), f), d, y + i);
  for (; i < channels; ++i) y[i] = x[i] * factor;
}

// y = y · weight
void scale_row(const float* weight, std::size_t channels, float* y) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= channels; i += lanes)
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::LoadU(d, weight + i)), d, y + i);
  for (; i < channels; ++i) y[i] *= weight[i];
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(rms_quotients);
HWY_EXPORT(scale_row);

namespace {

class RmsNormKernel final : public Kernel {
 public:
  RmsNormKernel(double eps, const NodeInfo& node)
      : eps_(eps), rows_(node.result), weight_(node.operands[1].dtype) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return scratch_for(rows_.channels); }

  void run(const KernelArgs& args) const override {
    const auto channels = static_cast<std::size_t>(rows_.channels);
    const float* weight =
        read_f32(weight_, args.operands[1], 0, rows_.channels, elements<float>(args.scratch));
    map_rows(
        rows_, args.operands[0], args.result, kMemoryGrain,
        [&](const float* x, std::int64_t count, float* y) {
          std::vector<std::byte> rounded(rows_.dtype == DType::f32 ? 0 : channels * size_of(rows_.dtype));
          for (std::int64_t row = 0; row < count; ++row, x += channels, y += channels) {
            HWY_DYNAMIC_DISPATCH(rms_quotients)(x, channels, eps_, y);
            if (rows_.dtype != DType::f32) {
              from_f32(y, rows_.channels, rows_.dtype, rounded.data());
              to_f32(rows_.dtype, rounded.data(), rows_.channels, y);
            }
            HWY_DYNAMIC_DISPATCH(scale_row)(weight, channels, y);
          }
        });
  }

 private:
  double eps_;
  Rows rows_;
  DType weight_;
};

Candidate make_rms_norm(const graph::op::RmsNorm& op, const NodeInfo& node) {
  for (const auto& type : node.operands)
    if (!is_graph_float(type.dtype)) return fmt::format("{}: takes f32, bf16, f16", to_string(type));
  return std::make_unique<RmsNormKernel>(op.eps, node);
}

constexpr KernelEntry<graph::op::RmsNorm> kRmsNorm[] = {{"simd", make_rms_norm}};

}  // namespace

std::span<const KernelEntry<graph::op::RmsNorm>> kernels(const graph::op::RmsNorm&) { return kRmsNorm; }

}  // namespace perfuse::cpu
#endif
