// Ops that move values.
#include <numeric>

#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {

Value broadcast_to(Builder& b, Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  // HLO repeats whole axes: those of size 1 go first.
  const auto missing = shape.size() - x.shape().size();
  Shape kept;
  Axes axes;
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (x.shape()[i] == shape[missing + i]) {
      kept.push_back(x.shape()[i]);
      axes.push_back(static_cast<std::int64_t>(missing + i));
    }
  return b.broadcast(b.reshape(std::move(x), kept), shape, std::move(axes));
}

Value along_last(Builder& b, Value vector, const Shape& shape) {
  return b.broadcast(std::move(vector), shape, {static_cast<std::int64_t>(shape.size()) - 1});
}

Value lower(const graph::op::Reshape& op, const Context& c) { return c.b.reshape(c.operands[0], op.shape); }

Value lower(const graph::op::Transpose& op, const Context& c) {
  return c.b.transpose(c.operands[0], Axes(op.axes.begin(), op.axes.end()));
}

Value lower(const graph::op::Concat& op, const Context& c) {
  return c.b.concatenate({c.operands.begin(), c.operands.end()}, op.axis);
}

Value lower(const graph::op::Slice& op, const Context& c) {
  return c.b.slice(c.operands[0], op.axis, op.begin, op.end);
}

Value lower(const graph::op::Broadcast& op, const Context& c) {
  return broadcast_to(c.b, c.operands[0], op.shape);
}

Value lower(const graph::op::UpsampleNearest& op, const Context& c) {
  const Value& x = c.operands[0];
  const auto batch = x.dim(0), height = x.dim(1), width = x.dim(2), channels = x.dim(3);
  if (op.height % height == 0 && op.width % width == 0) {
    const Shape repeated{batch, height, op.height / height, width, op.width / width, channels};
    return c.b.reshape(c.b.broadcast(x, repeated, {0, 1, 3, 5}), c.result.shape);
  }
  // Rows, then columns, by their source index.
  const auto sources = [&](std::int64_t from, std::int64_t to) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(to));
    for (std::int64_t i = 0; i < to; ++i)
      ids[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * from / to);
    return c.b.constant({to}, ids);
  };
  const Value rows = c.b.take_rows(c.b.transpose(x, {1, 2, 0, 3}), sources(height, op.height));
  const Value both = c.b.take_rows(c.b.transpose(rows, {1, 0, 2, 3}), sources(width, op.width));
  return c.b.transpose(both, {2, 1, 0, 3});
}

Value lower(const graph::op::Embedding& op, const Context& c) {
  return c.b.convert(c.b.take_rows(c.operands[0], c.operands[1]), op.dtype);
}

// Floats stop at an integer type's ends, and NaN is 0: HLO leaves both open.
Value lower(const graph::op::Convert& op, const Context& c) {
  const Value& x = c.operands[0];
  Builder& b = c.b;
  if (!is_floating(x.dtype()) || (op.dtype != DType::i32 && op.dtype != DType::u8))
    return b.convert(x, op.dtype);
  const Value wide = b.convert(x, DType::f32);
  const auto all = [&](DType dtype, double value) { return b.splat(b.constant(dtype, value), x.shape()); };
  const Value number = b.select(b.compare(Comparison::not_equal, wide, wide), all(DType::f32, 0), wide);
  if (op.dtype == DType::u8) return b.convert(b.clamp(0, number, 255), DType::u8);
  constexpr double kLeast = -0x1p31, kMostFloat = 0x1p31 - 128, kMost = 0x1p31 - 1;
  const Value inside = b.convert(b.clamp(kLeast, number, kMostFloat), DType::i32);
  return b.select(b.compare(Comparison::greater, number, all(DType::f32, kMostFloat)), all(DType::i32, kMost),
                  inside);
}

}  // namespace perfuse::hlo
