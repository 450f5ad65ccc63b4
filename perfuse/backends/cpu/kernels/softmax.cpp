#include <fmt/format.h>

#include <limits>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/softmax.cpp"
#include <hwy/foreach_target.h>

#include "perfuse/backends/cpu/kernels/row_reduce-inl.h"
#include "perfuse/backends/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// The largest element. A NaN may be passed over: the exponentials bring it back.
float row_maximum(const float* x, std::size_t count) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  float most = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  if (count >= lanes) {
    V m = hn::Set(d, most);
    for (; i + lanes <= count; i += lanes) m = hn::Max(hn::LoadU(d, x + i), m);
    most = hn::GetLane(hn::MaxOfLanes(d, m));
  }
  for (; i < count; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

}  // namespace

void softmax_rows(const float* x, std::size_t rows, std::size_t channels, float* y) {
  const D d;
  for (std::size_t row = 0; row < rows; ++row, x += channels, y += channels) {
    const V most = hn::Set(d, row_maximum(x, channels));
    map_f32(x, channels, y, [=](D tag, V v) HWY_ATTR { return exp_f32(tag, hn::Sub(v, most)); });
    const auto factor = static_cast<float>(1.0 / sum_row(y, channels, 0.0f, [](V v) HWY_ATTR { return v; }));
    map_f32(y, channels, y, [=](D tag, V v) HWY_ATTR { return hn::Mul(v, hn::Set(tag, factor)); });
  }
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(softmax_rows);

namespace {

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(const NodeInfo& node) : rows_(node.result) {}
  void run(const KernelArgs& args) const override {
    map_rows(rows_, args.operands[0], args.result, kMathGrain,
             [&](const float* x, std::int64_t count, float* y) {
               HWY_DYNAMIC_DISPATCH(softmax_rows)
               (x, static_cast<std::size_t>(count), static_cast<std::size_t>(rows_.channels), y);
             });
  }

 private:
  Rows rows_;
};

Candidate make_softmax(const graph::op::Softmax&, const NodeInfo& node) {
  if (!is_graph_float(node.result.dtype))
    return fmt::format("{}: takes f32, bf16, f16", to_string(node.result));
  return std::make_unique<SoftmaxKernel>(node);
}

constexpr KernelEntry<graph::op::Softmax> kSoftmax[] = {{"simd", make_softmax}};

}  // namespace

std::span<const KernelEntry<graph::op::Softmax>> kernels(const graph::op::Softmax&) { return kSoftmax; }

}  // namespace perfuse::cpu
#endif
