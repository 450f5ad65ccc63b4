// The type rule of every op.
#include <fmt/format.h>

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/graph/ops.h"

namespace perfuse::graph {
namespace {

using Types = std::vector<ValueType>;

// Carries what a message needs; rules call check() and say what they expect.
struct Rule {
  const Op& op;
  const Types& operands;

  void check(bool holds, std::string_view expected) const {
    if (holds) return;
    std::string types;
    for (const auto& type : operands) types += (types.empty() ? "" : ", ") + to_string(type);
    fail(ErrorKind::usage, "{} of ({}): expected {}", to_string(op), types, expected);
  }
  void count(std::size_t least, std::size_t most) const {
    check(operands.size() >= least && operands.size() <= most,
          least == most ? fmt::format("{} operands", least) : fmt::format("{} to {} operands", least, most));
  }
  void floating(std::size_t i) const {
    check(is_floating(operands[i].dtype), fmt::format("operand {} of a floating type", i));
  }
  void vector_of(std::size_t i, std::int64_t size) const {
    check(operands[i].shape == Shape{size}, fmt::format("operand {} of shape [{}]", i, size));
    floating(i);
  }
  [[nodiscard]] std::size_t axis(int axis, std::size_t i = 0) const {
    check(axis >= 0 && axis < operands[i].rank(), "an axis inside the operand");
    return static_cast<std::size_t>(axis);
  }
};

// numpy's rule; nothing where the shapes don't go together.
std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto from_end = result.size() - i;
    const auto x = from_end > a.size() ? 1 : a[a.size() - from_end];
    const auto y = from_end > b.size() ? 1 : b[b.size() - from_end];
    if (x != y && x != 1 && y != 1) return std::nullopt;
    result[i] = x == 1 ? y : x;
  }
  return result;
}

ValueType rule(const op::Linear&, const Rule& r) {
  r.count(2, 3);
  r.floating(0), r.floating(1);
  const auto& x = r.operands[0];
  const auto& w = r.operands[1];
  r.check(x.rank() >= 1 && w.rank() == 2 && x.shape.back() == w.shape[1], "x[…, K] and weight[N, K]");
  if (r.operands.size() == 3) r.vector_of(2, w.shape[0]);
  ValueType result = x;
  result.shape.back() = w.shape[0];
  return result;
}

ValueType rule(const op::Conv2d& o, const Rule& r) {
  r.count(2, 3);
  r.floating(0), r.floating(1);
  const auto& x = r.operands[0];
  const auto& w = r.operands[1];
  r.check(o.stride >= 1 && o.groups >= 1 && std::min({o.pad_top, o.pad_bottom, o.pad_left, o.pad_right}) >= 0,
          "stride and groups of at least 1, no negative padding");
  r.check(x.rank() == 4 && w.rank() == 4 && x.shape[3] == w.shape[3] * o.groups && w.shape[0] % o.groups == 0,
          "x[N, H, W, C] and weight[O, KH, KW, C / groups]");
  if (r.operands.size() == 3) r.vector_of(2, w.shape[0]);
  const auto height = x.shape[1] + o.pad_top + o.pad_bottom - w.shape[1];
  const auto width = x.shape[2] + o.pad_left + o.pad_right - w.shape[2];
  r.check(height >= 0 && width >= 0, "an image no smaller than the kernel");
  return {x.dtype, {x.shape[0], height / o.stride + 1, width / o.stride + 1, w.shape[0]}};
}

ValueType rule(const op::GroupNorm& o, const Rule& r) {
  r.count(3, 3);
  r.floating(0);
  const auto& x = r.operands[0];
  r.check(x.rank() >= 2 && o.groups >= 1 && x.shape.back() % o.groups == 0,
          "x[N, …, C], C a multiple of groups");
  r.vector_of(1, x.shape.back()), r.vector_of(2, x.shape.back());
  return x;
}

ValueType rule(const op::LayerNorm&, const Rule& r) {
  r.check(r.operands.size() == 1 || r.operands.size() == 3, "1 or 3 operands");
  r.floating(0);
  const auto& x = r.operands[0];
  r.check(x.rank() >= 1, "x[…, C]");
  if (r.operands.size() == 3) r.vector_of(1, x.shape.back()), r.vector_of(2, x.shape.back());
  return x;
}

ValueType rule(const op::RmsNorm&, const Rule& r) {
  r.count(2, 2);
  r.floating(0);
  r.check(r.operands[0].rank() >= 1, "x[…, C]");
  r.vector_of(1, r.operands[0].shape.back());
  return r.operands[0];
}

ValueType rule(const op::Attention&, const Rule& r) {
  r.count(3, 4);
  const auto& q = r.operands[0];
  const auto& k = r.operands[1];
  const auto& v = r.operands[2];
  r.check(is_floating(q.dtype) && k.dtype == q.dtype && v.dtype == q.dtype,
          "q, k and v of one floating type");
  r.check(q.rank() == 4 && k.rank() == 4 && v.shape == k.shape && q.shape[0] == k.shape[0] &&
              q.shape[3] == k.shape[3],
          "q[B, S, H, D], k[B, T, G, D], v[B, T, G, D]");
  r.check(k.shape[2] >= 1 && q.shape[2] % k.shape[2] == 0, "heads of q a multiple of those of k");
  if (r.operands.size() == 4) {
    const auto& bias = r.operands[3];
    const Shape scores{q.shape[0], q.shape[2], q.shape[1], k.shape[1]};
    r.check(is_floating(bias.dtype) && bias.rank() == 4 && bias.shape[3] == scores[3] &&
                broadcast_shapes(bias.shape, scores) == scores,
            "bias[1|B, 1|H, 1|S, T]");
  }
  return q;
}

ValueType rule(const op::Unary&, const Rule& r) {
  r.count(1, 1);
  r.floating(0);
  return r.operands[0];
}

ValueType rule(const op::Binary&, const Rule& r) {
  r.count(2, 2);
  const auto& a = r.operands[0];
  const auto& b = r.operands[1];
  const auto shape = broadcast_shapes(a.shape, b.shape);
  r.check(a.dtype == b.dtype && shape.has_value(), "two operands of one type whose shapes broadcast");
  return {a.dtype, *shape};
}

ValueType rule(const op::Affine&, const Rule& r) {
  r.count(1, 1);
  r.floating(0);
  return r.operands[0];
}

ValueType rule(const op::Clamp& o, const Rule& r) {
  r.count(1, 1);
  r.floating(0);
  r.check(o.least <= o.most, "least ≤ most");
  return r.operands[0];
}

ValueType rule(const op::Softmax&, const Rule& r) {
  r.count(1, 1);
  r.floating(0);
  r.check(r.operands[0].rank() >= 1, "x[…, C]");
  return r.operands[0];
}

ValueType rule(const op::Reshape& o, const Rule& r) {
  r.count(1, 1);
  r.check(numel(o.shape) == r.operands[0].numel(), "as many elements as before");
  return {r.operands[0].dtype, o.shape};
}

ValueType rule(const op::Transpose& o, const Rule& r) {
  r.count(1, 1);
  const auto& x = r.operands[0];
  auto sorted = o.axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = static_cast<int>(sorted.size()) == x.rank();
  for (std::size_t i = 0; i < sorted.size(); ++i)
    permutation = permutation && sorted[i] == static_cast<int>(i);
  r.check(permutation, "axes that name each dimension once");
  ValueType result{x.dtype, {}};
  for (const int axis : o.axes) result.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return result;
}

ValueType rule(const op::Concat& o, const Rule& r) {
  r.check(!r.operands.empty(), "at least one operand");
  ValueType result = r.operands[0];
  const auto axis = r.axis(o.axis);
  for (std::size_t i = 1; i < r.operands.size(); ++i) {
    ValueType part = r.operands[i];
    r.check(part.rank() == result.rank() && part.dtype == result.dtype, "operands of one type and rank");
    const auto size = part.shape[axis];
    part.shape[axis] = result.shape[axis];
    r.check(part.shape == result.shape, "operands that differ along the axis alone");
    result.shape[axis] += size;
  }
  return result;
}

ValueType rule(const op::Slice& o, const Rule& r) {
  r.count(1, 1);
  ValueType result = r.operands[0];
  const auto axis = r.axis(o.axis);
  r.check(0 <= o.begin && o.begin <= o.end && o.end <= result.shape[axis], "a range inside the dimension");
  result.shape[axis] = o.end - o.begin;
  return result;
}

ValueType rule(const op::Broadcast& o, const Rule& r) {
  r.count(1, 1);
  r.check(broadcast_shapes(r.operands[0].shape, o.shape) == o.shape,
          "a shape that broadcasts to the attribute");
  return {r.operands[0].dtype, o.shape};
}

ValueType rule(const op::UpsampleNearest& o, const Rule& r) {
  r.count(1, 1);
  const auto& x = r.operands[0];
  r.check(x.rank() == 4 && o.height >= 1 && o.width >= 1, "x[N, H, W, C] and a positive size");
  return {x.dtype, {x.shape[0], o.height, o.width, x.shape[3]}};
}

ValueType rule(const op::Embedding& o, const Rule& r) {
  r.count(2, 2);
  r.floating(0);
  r.check(r.operands[0].rank() == 2 && r.operands[1].dtype == DType::i32 && is_floating(o.dtype),
          "table[V, C] and ids of i32");
  ValueType result{o.dtype, r.operands[1].shape};
  result.shape.push_back(r.operands[0].shape[1]);
  return result;
}

ValueType rule(const op::Convert& o, const Rule& r) {
  r.count(1, 1);
  r.check(o.dtype != DType::i64 && o.dtype != DType::f64, "a type that graphs have");
  return {o.dtype, r.operands[0].shape};
}

ValueType rule(const op::TimestepEmbedding& o, const Rule& r) {
  r.count(1, 1);
  const auto& t = r.operands[0];
  r.check(t.dtype == DType::f32 && t.rank() == 1 && o.dim >= 2 && o.dim % 2 == 0, "t f32[N] and an even dim");
  return {DType::f32, {t.shape[0], o.dim}};
}

ValueType rule(const op::LinearCombination& o, const Rule& r) {
  r.check(r.operands.size() >= 2, "coefficients and at least one term");
  r.vector_of(0, static_cast<std::int64_t>(r.operands.size()) - 1);
  r.check(r.operands[0].dtype == DType::f32 && is_floating(o.dtype),
          "f32 coefficients and a floating result");
  for (std::size_t i = 1; i < r.operands.size(); ++i) {
    r.floating(i);
    r.check(r.operands[i].shape == r.operands[1].shape, "terms of one shape");
  }
  return {o.dtype, r.operands[1].shape};
}

}  // namespace

ValueType infer(const Op& op, const std::vector<ValueType>& operands) {
  const Rule r{op, operands};
  return std::visit([&](const auto& o) { return rule(o, r); }, op);
}

}  // namespace perfuse::graph
