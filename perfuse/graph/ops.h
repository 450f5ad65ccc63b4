// The operations of a graph: few, composite, each defined once. Operands in the order of the comment;
// a "?" operand may be left out. Images are NHWC. With half-precision results, what happens inside an op
// is f32 and the result is rounded once.
//
// To add one: a struct here and in `Op`, its type rule in infer.cpp, its lowering in every backend (the
// compiler names the ones that lack it), its case in tests/reference.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perfuse/graph/type.h"

namespace perfuse::graph {

namespace op {

// x[…, K], weight[N, K], bias[N]? → […, N] : x · weightᵀ + bias. The weight's type may differ from x's
// (a half-precision file under f32 arithmetic); the bias' too.
struct Linear {
  static constexpr std::string_view name = "linear";
  template <class F> void attributes(F&&) const {}
};

// x[N, H, W, C], weight[O, KH, KW, C / groups], bias[O]? → [N, H', W', O]. Zero padding.
struct Conv2d {
  static constexpr std::string_view name = "conv2d";
  std::int64_t stride = 1;
  std::int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
  std::int64_t groups = 1;
  template <class F> void attributes(F&& f) const {
    f("stride", stride), f("pad_top", pad_top), f("pad_bottom", pad_bottom), f("pad_left", pad_left);
    f("pad_right", pad_right), f("groups", groups);
  }
};

// x[N, …, C], weight[C], bias[C] → like x: mean and variance over all positions and the C / groups
// channels of a group.
struct GroupNorm {
  static constexpr std::string_view name = "group_norm";
  std::int64_t groups = 32;
  double eps = 1e-5;
  template <class F> void attributes(F&& f) const { f("groups", groups), f("eps", eps); }
};

// x[…, C], weight[C]?, bias[C]? (both or neither) → like x, over the last dimension.
struct LayerNorm {
  static constexpr std::string_view name = "layer_norm";
  double eps = 1e-5;
  template <class F> void attributes(F&& f) const { f("eps", eps); }
};

// x[…, C], weight[C] → x / sqrt(mean(x²) + eps) · weight; the quotient is rounded to x's type first, as
// T5 and Qwen do.
struct RmsNorm {
  static constexpr std::string_view name = "rms_norm";
  double eps = 1e-6;
  template <class F> void attributes(F&& f) const { f("eps", eps); }
};

// q[B, S, H, D], k[B, T, G, D], v[B, T, G, D], bias?[1|B, 1|H, 1|S, T] → [B, S, H, D]:
// softmax(q·kᵀ · scale + bias) · v per head, H a multiple of G (grouped-query). The scores are never
// held whole. `causal`: position s sees t ≤ s + (T − S). A position that sees nothing (each score is −∞, by the bias
// or by causality) gives 0.
struct Attention {
  static constexpr std::string_view name = "attention";
  double scale = 1.0;
  bool causal = false;
  template <class F> void attributes(F&& f) const { f("scale", scale), f("causal", causal); }
};

enum class UnaryKind { silu, gelu, gelu_tanh, quick_gelu, relu, sigmoid, tanh, exp, sqrt, square, cos, sin };
// Element by element. gelu is the exact (erf) form.
struct Unary {
  static constexpr std::string_view name = "unary";
  UnaryKind kind = UnaryKind::silu;
  template <class F> void attributes(F&& f) const { f("kind", kind); }
};

enum class BinaryKind { add, sub, mul, div, maximum, minimum };
// Element by element with numpy's broadcasting; both operands have one type.
struct Binary {
  static constexpr std::string_view name = "binary";
  BinaryKind kind = BinaryKind::add;
  template <class F> void attributes(F&& f) const { f("kind", kind); }
};

// x · scale + offset.
struct Affine {
  static constexpr std::string_view name = "affine";
  double scale = 1.0, offset = 0.0;
  template <class F> void attributes(F&& f) const { f("scale", scale), f("offset", offset); }
};

// Values clamped to least…most.
struct Clamp {
  static constexpr std::string_view name = "clamp";
  double least = 0.0, most = 0.0;
  template <class F> void attributes(F&& f) const { f("least", least), f("most", most); }
};

// Over the last dimension.
struct Softmax {
  static constexpr std::string_view name = "softmax";
  template <class F> void attributes(F&&) const {}
};

struct Reshape {
  static constexpr std::string_view name = "reshape";
  Shape shape;
  template <class F> void attributes(F&& f) const { f("shape", shape); }
};

// Result dimension i is x's dimension axes[i].
struct Transpose {
  static constexpr std::string_view name = "transpose";
  std::vector<int> axes;
  template <class F> void attributes(F&& f) const { f("axes", axes); }
};

// Any number of operands of one type.
struct Concat {
  static constexpr std::string_view name = "concat";
  int axis = 0;
  template <class F> void attributes(F&& f) const { f("axis", axis); }
};

// Entries begin … end − 1 of one axis.
struct Slice {
  static constexpr std::string_view name = "slice";
  int axis = 0;
  std::int64_t begin = 0, end = 0;
  template <class F> void attributes(F&& f) const { f("axis", axis), f("begin", begin), f("end", end); }
};

// x, with dimensions of size 1 (or missing in front) repeated to `shape`.
struct Broadcast {
  static constexpr std::string_view name = "broadcast";
  Shape shape;
  template <class F> void attributes(F&& f) const { f("shape", shape); }
};

// x[N, H, W, C] → [N, height, width, C]: nearest, source index floor(i · H / height), as torch.
struct UpsampleNearest {
  static constexpr std::string_view name = "upsample_nearest";
  std::int64_t height = 0, width = 0;
  template <class F> void attributes(F&& f) const { f("height", height), f("width", width); }
};

// table[V, C], ids i32[…] → [dtype][…, C]. Ids outside 0…V−1 are an error on the host and clamped on devices.
struct Embedding {
  static constexpr std::string_view name = "embedding";
  DType dtype = DType::f32;  // of the result: the table may be half precision under f32 arithmetic
  template <class F> void attributes(F&& f) const { f("dtype", dtype); }
};

// Another type; floats round to nearest even.
struct Convert {
  static constexpr std::string_view name = "convert";
  DType dtype = DType::f32;
  template <class F> void attributes(F&& f) const { f("dtype", dtype); }
};

// t f32[N] → f32[N, dim]: sin and cos of t · max_period^(−i / (dim/2 − shift)), i < dim/2; frequencies and
// arguments in f32 (double shifts results by 1e-5). flip_sin_to_cos puts the cosines first.
struct TimestepEmbedding {
  static constexpr std::string_view name = "timestep_embedding";
  std::int64_t dim = 256;
  bool flip_sin_to_cos = true;
  double downscale_freq_shift = 0.0;
  double max_period = 10000.0;
  template <class F> void attributes(F&& f) const {
    f("dim", dim), f("flip_sin_to_cos", flip_sin_to_cos), f("downscale_freq_shift", downscale_freq_shift);
    f("max_period", max_period);
  }
};

// coefficients f32[n], x0 … x(n−1) of one shape (floating types may differ) → Σ coefficients[i] · xi in f32,
// rounded to `dtype`. A scheduler's step; the coefficients come in, so that a step compiles nothing.
struct LinearCombination {
  static constexpr std::string_view name = "linear_combination";
  DType dtype = DType::f32;
  template <class F> void attributes(F&& f) const { f("dtype", dtype); }
};

}  // namespace op

using Op = std::variant<op::Linear, op::Conv2d, op::GroupNorm, op::LayerNorm, op::RmsNorm, op::Attention,
                        op::Unary, op::Binary, op::Affine, op::Clamp, op::Softmax, op::Reshape, op::Transpose,
                        op::Concat, op::Slice, op::Broadcast, op::UpsampleNearest, op::Embedding, op::Convert,
                        op::TimestepEmbedding, op::LinearCombination>;

[[nodiscard]] std::string_view to_string(op::UnaryKind kind);
[[nodiscard]] std::string_view to_string(op::BinaryKind kind);

// The dim / 2 frequencies of a timestep embedding, as torch's f32 arithmetic gives them.
[[nodiscard]] std::vector<float> timestep_frequencies(const op::TimestepEmbedding& op);

// "conv2d", …
[[nodiscard]] std::string_view name_of(const Op& op);

// "conv2d(stride=1, pad_top=1, …)": name and all attributes, exact (floats in shortest round-trip form).
[[nodiscard]] std::string to_string(const Op& op);

// The result's type. Throws Error(usage) that names the op, the operands' types and the rule broken.
[[nodiscard]] ValueType infer(const Op& op, const std::vector<ValueType>& operands);

}  // namespace perfuse::graph
