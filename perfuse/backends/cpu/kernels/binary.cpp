#include <fmt/format.h>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"
#include "perfuse/backends/cpu/kernels/strides.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/binary.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// y[i] = f(a[i or 0], b[i or 0]).
template <class F>
HWY_INLINE void zip(const float* a, bool repeat_a, const float* b, bool repeat_b, std::size_t count, float* y,
                    const F& f) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto at = [&](const float* x, bool repeat, std::size_t i)
                      HWY_ATTR { return repeat ? hn::Set(d, *x) : hn::LoadU(d, x + i); };
  std::size_t i = 0;
  if (repeat_a || repeat_b) {
    for (; i + lanes <= count; i += lanes) hn::StoreU(f(at(a, repeat_a, i), at(b, repeat_b, i)), d, y + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  if (i == count) return;
  HWY_ALIGN float tail_a[hn::MaxLanes(D())] = {};
  HWY_ALIGN float tail_b[hn::MaxLanes(D())] = {};
  for (std::size_t j = i; j < count; ++j) {
    tail_a[j - i] = a[repeat_a ? 0 : j];
    tail_b[j - i] = b[repeat_b ? 0 : j];
  }
  hn::Store(f(hn::Load(d, tail_a), hn::Load(d, tail_b)), d, tail_a);
  for (std::size_t j = i; j < count; ++j) y[j] = tail_a[j - i];
}

// NaN where either is, as torch's maximum and minimum.
HWY_INLINE V or_nan(V a, V b, V value) {
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::Add(a, b), value);
}

}  // namespace

void binary_f32(graph::op::BinaryKind kind, const float* a, bool repeat_a, const float* b, bool repeat_b,
                std::size_t count, float* y) {
  using Kind = graph::op::BinaryKind;
  const auto with = [&](const auto& f) HWY_ATTR { zip(a, repeat_a, b, repeat_b, count, y, f); };
  switch (kind) {
    case Kind::add: return with([](V p, V q) HWY_ATTR { return hn::Add(p, q); });
    case Kind::sub: return with([](V p, V q) HWY_ATTR { return hn::Sub(p, q); });
    case Kind::mul: return with([](V p, V q) HWY_ATTR { return hn::Mul(p, q); });
    case Kind::div: return with([](V p, V q) HWY_ATTR { return hn::Div(p, q); });
    case Kind::maximum: return with([](V p, V q) HWY_ATTR { return or_nan(p, q, hn::Max(p, q)); });
    case Kind::minimum: return with([](V p, V q) HWY_ATTR { return or_nan(p, q, hn::Min(p, q)); });
  }
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(binary_f32);

namespace {

using graph::op::BinaryKind;

// Two operands' loops, merged: same shapes are one loop, a scalar has step 0, a row repeats in the outer loops.
std::vector<Loop<2>> loops_of(const NodeInfo& node) {
  const auto& result = node.result.shape;
  return merge_loops<2>(result, {broadcast_strides(node.operands[0].shape, result),
                                 broadcast_strides(node.operands[1].shape, result)});
}

class SimdBinary final : public Kernel {
 public:
  SimdBinary(BinaryKind kind, const NodeInfo& node)
      : kind_(kind), type_(node.result.dtype), count_(node.result.numel()), loops_(loops_of(node)) {}

  void run(const KernelArgs& args) const override {
    const bool repeat_a = loops_.back().steps[0] == 0, repeat_b = loops_.back().steps[1] == 0;
    parallel_for(count_, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) float a_buffer[kBlock], b_buffer[kBlock], y_buffer[kBlock];
      for_each_run(loops_, begin, end, [&](std::int64_t position, const auto& offsets, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += kBlock) {
          const auto n = std::min(kBlock, count - i);
          const float* a =
              read_f32(type_, args.operands[0], offsets[0] + (repeat_a ? 0 : i), repeat_a ? 1 : n, a_buffer);
          const float* b =
              read_f32(type_, args.operands[1], offsets[1] + (repeat_b ? 0 : i), repeat_b ? 1 : n, b_buffer);
          float* y = target_f32(type_, args.result, position + i, y_buffer);
          HWY_DYNAMIC_DISPATCH(binary_f32)(kind_, a, repeat_a, b, repeat_b, static_cast<std::size_t>(n), y);
          store_f32(type_, args.result, position + i, n, y_buffer);
        }
      });
    });
  }

 private:
  BinaryKind kind_;
  DType type_;
  std::int64_t count_;
  std::vector<Loop<2>> loops_;
};

// Integers wrap around; quotients truncate, and a division by 0 gives all ones, as XLA has it. A result of bool
// is "not 0".
template <class T> T integer_op(BinaryKind kind, T a, T b) {
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  std::int64_t value = 0;
  switch (kind) {
    case BinaryKind::add: value = x + y; break;
    case BinaryKind::sub: value = x - y; break;
    case BinaryKind::mul: value = x * y; break;
    case BinaryKind::div: value = y == 0 ? -1 : x / y; break;
    case BinaryKind::maximum: value = std::max(x, y); break;
    case BinaryKind::minimum: value = std::min(x, y); break;
  }
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else
    return static_cast<T>(value);
}

template <class T> class IntegerBinary final : public Kernel {
 public:
  IntegerBinary(BinaryKind kind, const NodeInfo& node)
      : kind_(kind), count_(node.result.numel()), loops_(loops_of(node)) {}

  void run(const KernelArgs& args) const override {
    const auto* a = elements<T>(args.operands[0]);
    const auto* b = elements<T>(args.operands[1]);
    auto* y = elements<T>(args.result);
    const auto& steps = loops_.back().steps;
    parallel_for(count_, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
      for_each_run(loops_, begin, end, [&](std::int64_t position, const auto& offsets, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i)
          y[position + i] = integer_op(kind_, a[offsets[0] + i * steps[0]], b[offsets[1] + i * steps[1]]);
      });
    });
  }

 private:
  BinaryKind kind_;
  std::int64_t count_;
  std::vector<Loop<2>> loops_;
};

Candidate make_simd(const graph::op::Binary& op, const NodeInfo& node) {
  if (!is_graph_float(node.result.dtype))
    return fmt::format("{}: takes f32, bf16, f16", to_string(node.result));
  return std::make_unique<SimdBinary>(op.kind, node);
}

Candidate make_integer(const graph::op::Binary& op, const NodeInfo& node) {
  switch (node.result.dtype) {
    case DType::i32: return std::make_unique<IntegerBinary<std::int32_t>>(op.kind, node);
    case DType::u8: return std::make_unique<IntegerBinary<std::uint8_t>>(op.kind, node);
    case DType::boolean: return std::make_unique<IntegerBinary<bool>>(op.kind, node);
    default: return fmt::format("{}: takes i32, u8, bool", to_string(node.result));
  }
}

constexpr KernelEntry<graph::op::Binary> kBinary[] = {{"simd", make_simd}, {"integer", make_integer}};

}  // namespace

std::span<const KernelEntry<graph::op::Binary>> kernels(const graph::op::Binary&) { return kBinary; }

}  // namespace perfuse::cpu
#endif
