#include <fmt/format.h>

#include <limits>
#include <type_traits>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"

namespace perfuse::cpu {
namespace {

// Between f32, bf16 and f16, a block at a time.
class FloatConvert final : public Kernel {
 public:
  explicit FloatConvert(const NodeInfo& node)
      : from_(node.operands[0].dtype), to_(node.result.dtype), count_(node.result.numel()) {}
  void run(const KernelArgs& args) const override {
    parallel_for(count_, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) float buffer[kBlock];
      for (std::int64_t i = begin; i < end; i += kBlock) {
        const auto n = std::min(kBlock, end - i);
        if (to_ == DType::f32) {
          to_f32(from_, args.operands[0] + i * static_cast<std::int64_t>(size_of(from_)), n,
                 elements<float>(args.result) + i);
        } else {
          store_f32(to_, args.result, i, n, read_f32(from_, args.operands[0], i, n, buffer));
        }
      }
    });
  }

 private:
  DType from_, to_;
  std::int64_t count_;
};

// Floats truncate to integers and stop at the type's ends (NaN is 0); integers keep their low bits; bool is "not
// 0". As XLA has it, so that devices agree.
template <class To, class From> To convert_element(From value) {
  if constexpr (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>) {
    return convert_element<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_same_v<To, bfloat16> || std::is_same_v<To, float16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (value != value) return To{0};
    const auto wide = static_cast<double>(value);
    if (wide <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (wide >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From> class ElementConvert final : public Kernel {
 public:
  explicit ElementConvert(std::int64_t count) : count_(count) {}
  void run(const KernelArgs& args) const override {
    const From* x = elements<From>(args.operands[0]);
    To* y = elements<To>(args.result);
    parallel_for(count_, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) y[i] = convert_element<To>(x[i]);
    });
  }

 private:
  std::int64_t count_;
};

Candidate make_float(const graph::op::Convert&, const NodeInfo& node) {
  if (!is_graph_float(node.operands[0].dtype) || !is_graph_float(node.result.dtype))
    return fmt::format("{} to {}: takes f32, bf16, f16", to_string(node.operands[0]), to_string(node.result));
  return std::make_unique<FloatConvert>(node);
}

Candidate make_element(const graph::op::Convert&, const NodeInfo& node) {
  return visit_dtype(node.operands[0].dtype, [&](auto from) {
    return visit_dtype(node.result.dtype, [&](auto to) -> Candidate {
      return std::make_unique<ElementConvert<decltype(to), decltype(from)>>(node.result.numel());
    });
  });
}

constexpr KernelEntry<graph::op::Convert> kConvert[] = {{"simd", make_float}, {"element", make_element}};

}  // namespace

std::span<const KernelEntry<graph::op::Convert>> kernels(const graph::op::Convert&) { return kConvert; }

}  // namespace perfuse::cpu
