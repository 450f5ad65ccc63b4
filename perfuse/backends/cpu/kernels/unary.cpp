#include <fmt/format.h>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/unary.cpp"
#include <hwy/foreach_target.h>

#include "perfuse/backends/cpu/kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {

// x · sigmoid(2√(2/π) · (x + 0.044715 x³)), which is the tanh form.
template <class D, class V = hn::Vec<D>> HWY_INLINE V gelu_tanh(D d, V x) {
  const V cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 1.59576912f * 0.044715f), hn::Set(d, 1.59576912f));
  return times_sigmoid_f32(d, x, hn::Mul(x, cubic));
}

}  // namespace

void unary_f32(graph::op::UnaryKind kind, const float* x, std::size_t count, float* y) {
  using Kind = graph::op::UnaryKind;
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  const auto map = [&](const auto& f) HWY_ATTR { map_f32(x, count, y, f); };
  switch (kind) {
    case Kind::silu: return map([](D d, V v) HWY_ATTR { return times_sigmoid_f32(d, v, v); });
    case Kind::gelu: return map([](D d, V v) HWY_ATTR { return hn::Mul(v, normal_cdf_f32(d, v)); });
    case Kind::gelu_tanh: return map([](D d, V v) HWY_ATTR { return gelu_tanh(d, v); });
    case Kind::quick_gelu:
      return map([](D d, V v) HWY_ATTR { return times_sigmoid_f32(d, v, hn::Mul(v, hn::Set(d, 1.702f))); });
    case Kind::relu:
      return map([](D d, V v) HWY_ATTR { return hn::IfThenElse(hn::IsNaN(v), v, hn::Max(v, hn::Zero(d))); });
    case Kind::sigmoid: return map([](D d, V v) HWY_ATTR { return sigmoid_f32(d, v); });
    case Kind::tanh: return map([](D d, V v) HWY_ATTR { return tanh_f32(d, v); });
    case Kind::exp: return map([](D d, V v) HWY_ATTR { return exp_f32(d, v); });
    case Kind::sqrt: return map([](D, V v) HWY_ATTR { return hn::Sqrt(v); });
    case Kind::square: return map([](D, V v) HWY_ATTR { return hn::Mul(v, v); });
    case Kind::cos: return map([](D d, V v) HWY_ATTR { return cos_f32(d, v); });
    case Kind::sin: return map([](D d, V v) HWY_ATTR { return sin_f32(d, v); });
  }
}

void affine_f32(float scale, float offset, const float* x, std::size_t count, float* y) {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  map_f32(x, count, y,
          [=](D d, V v) HWY_ATTR { return hn::MulAdd(v, hn::Set(d, scale), hn::Set(d, offset)); });
}

void clamp_f32(float least, float most, const float* x, std::size_t count, float* y) {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  map_f32(x, count, y, [=](D d, V v) HWY_ATTR {
    const V clamped = hn::Min(hn::Max(v, hn::Set(d, least)), hn::Set(d, most));
    return hn::IfThenElse(hn::IsNaN(v), v, clamped);
  });
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(unary_f32);
HWY_EXPORT(affine_f32);
HWY_EXPORT(clamp_f32);

namespace {

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

// One operand, element by element; Core is op(const float* x, std::int64_t count, float* y).
template <class Core> class MapKernel final : public Kernel {
 public:
  MapKernel(const graph::ValueType& type, std::int64_t grain, Core core)
      : dtype_(type.dtype), count_(type.numel()), grain_(grain), core_(std::move(core)) {}
  void run(const KernelArgs& args) const override {
    map_elements(dtype_, args.operands[0], args.result, count_, grain_, core_);
  }

 private:
  DType dtype_;
  std::int64_t count_, grain_;
  Core core_;
};

template <class Core> Candidate map_kernel(const NodeInfo& node, std::int64_t grain, Core core) {
  if (!is_graph_float(node.result.dtype))
    return fmt::format("{}: takes f32, bf16, f16", to_string(node.result));
  return std::make_unique<MapKernel<Core>>(node.result, grain, std::move(core));
}

Candidate make_unary(const graph::op::Unary& op, const NodeInfo& node) {
  return map_kernel(node, kMathGrain, [kind = op.kind](const float* x, std::int64_t count, float* y) {
    HWY_DYNAMIC_DISPATCH(unary_f32)(kind, x, size(count), y);
  });
}

Candidate make_affine(const graph::op::Affine& op, const NodeInfo& node) {
  const auto scale = static_cast<float>(op.scale), offset = static_cast<float>(op.offset);
  return map_kernel(node, kMemoryGrain, [=](const float* x, std::int64_t count, float* y) {
    HWY_DYNAMIC_DISPATCH(affine_f32)(scale, offset, x, size(count), y);
  });
}

Candidate make_clamp(const graph::op::Clamp& op, const NodeInfo& node) {
  const auto least = static_cast<float>(op.least), most = static_cast<float>(op.most);
  return map_kernel(node, kMemoryGrain, [=](const float* x, std::int64_t count, float* y) {
    HWY_DYNAMIC_DISPATCH(clamp_f32)(least, most, x, size(count), y);
  });
}

constexpr KernelEntry<graph::op::Unary> kUnary[] = {{"simd", make_unary}};
constexpr KernelEntry<graph::op::Affine> kAffine[] = {{"simd", make_affine}};
constexpr KernelEntry<graph::op::Clamp> kClamp[] = {{"simd", make_clamp}};

}  // namespace

std::span<const KernelEntry<graph::op::Unary>> kernels(const graph::op::Unary&) { return kUnary; }
std::span<const KernelEntry<graph::op::Affine>> kernels(const graph::op::Affine&) { return kAffine; }
std::span<const KernelEntry<graph::op::Clamp>> kernels(const graph::op::Clamp&) { return kClamp; }

}  // namespace perfuse::cpu
#endif
