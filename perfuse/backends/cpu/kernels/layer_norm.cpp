#include <fmt/format.h>

#include <cmath>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>

#include "perfuse/backends/cpu/kernels/row_reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// y = ((x − centre) · factor + offset) · weight + bias; weight and bias may both be null.
void normalise(const float* x, std::size_t count, float centre, float factor, float offset,
               const float* weight, const float* bias, float* y) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V m = hn::Set(d, centre), f = hn::Set(d, factor), o = hn::Set(d, offset);
  std::size_t i = 0;
  if (weight != nullptr) {
    for (; i + lanes <= count; i += lanes) {
      const V normal = hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), m), f, o);
      hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, weight + i), hn::LoadU(d, bias + i)), d, y + i);
    }
    for (; i < count; ++i) y[i] = ((x[i] - centre) * factor + offset) * weight[i] + bias[i];
  } else {
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), m), f, o), d, y + i);
    for (; i < count; ++i) y[i] = (x[i] - centre) * factor + offset;
  }
}

}  // namespace

void layer_norm_rows(const float* x, std::size_t rows, std::size_t channels, double eps, const float* weight,
                     const float* bias, float* y) {
  const D d;
  const auto n = static_cast<double>(channels);
  for (std::size_t row = 0; row < rows; ++row, x += channels, y += channels) {
    const auto rough = static_cast<float>(sum_row(x, channels, 0.0f, [](V v) HWY_ATTR { return v; }) / n);
    // Deviations from the f32 mean, and their sum, which is what that mean lacks.
    const V m = hn::Set(d, rough);
    const double lack = sum_row(x, channels, rough, [=](V v) HWY_ATTR { return hn::Sub(v, m); }) / n;
    const double squares = sum_row(x, channels, rough, [=](V v) HWY_ATTR {
      const V deviation = hn::Sub(v, m);
      return hn::Mul(deviation, deviation);
    });
    const double variance = squares / n - lack * lack;
    const double factor = 1.0 / std::sqrt(variance + eps);
    normalise(x, channels, rough, static_cast<float>(factor), static_cast<float>(-lack * factor), weight,
              bias, y);
  }
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(layer_norm_rows);

namespace {

class LayerNormKernel final : public Kernel {
 public:
  LayerNormKernel(double eps, const NodeInfo& node) : eps_(eps), rows_(node.result) {
    if (node.operands.size() == 3) weight_ = node.operands[1].dtype, bias_ = node.operands[2].dtype;
  }

  [[nodiscard]] std::size_t scratch_bytes() const override { return 2 * scratch_for(rows_.channels); }

  void run(const KernelArgs& args) const override {
    const float* weight = nullptr;
    const float* bias = nullptr;
    const auto channels = rows_.channels;
    if (args.operands.size() == 3) {
      auto* second = args.scratch + scratch_for(channels);
      weight = read_f32(weight_, args.operands[1], 0, channels, elements<float>(args.scratch));
      bias = read_f32(bias_, args.operands[2], 0, channels, elements<float>(second));
    }
    map_rows(rows_, args.operands[0], args.result, kMemoryGrain,
             [&](const float* x, std::int64_t count, float* y) {
               HWY_DYNAMIC_DISPATCH(layer_norm_rows)
               (x, static_cast<std::size_t>(count), static_cast<std::size_t>(channels), eps_, weight, bias,
                y);
             });
  }

 private:
  double eps_;
  Rows rows_;
  DType weight_ = DType::f32, bias_ = DType::f32;
};

Candidate make_layer_norm(const graph::op::LayerNorm& op, const NodeInfo& node) {
  for (const auto& type : node.operands)
    if (!is_graph_float(type.dtype)) return fmt::format("{}: takes f32, bf16, f16", to_string(type));
  return std::make_unique<LayerNormKernel>(op.eps, node);
}

constexpr KernelEntry<graph::op::LayerNorm> kLayerNorm[] = {{"simd", make_layer_norm}};

}  // namespace

std::span<const KernelEntry<graph::op::LayerNorm>> kernels(const graph::op::LayerNorm&) { return kLayerNorm; }

}  // namespace perfuse::cpu
#endif
