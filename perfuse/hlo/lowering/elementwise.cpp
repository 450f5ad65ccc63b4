// Ops that work element by element.
#include <array>
#include <numbers>

#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {
namespace {

namespace op = graph::op;

// x · sigmoid(scale · x)
Value times_sigmoid(Builder& b, const Value& x, double scale) {
  const Value inner = scale == 1.0 ? x : b.binary("multiply", x, scale);
  return b.binary("multiply", x, b.unary("logistic", inner));
}

Value half_of_x_times_one_plus(Builder& b, const Value& x, const Value& y) {
  return b.binary("multiply", b.binary("multiply", x, 0.5), b.binary("add", y, 1.0));
}

Value gelu_tanh(Builder& b, const Value& x) {
  constexpr double kCubic = 0.044715;
  const Value cube = b.binary("multiply", b.binary("multiply", x, x), x);
  const Value inner = b.binary("add", x, b.binary("multiply", cube, kCubic));
  return half_of_x_times_one_plus(
      b, x, b.unary("tanh", b.binary("multiply", inner, std::numbers::sqrt2 * std::numbers::inv_sqrtpi)));
}

Value unary(Builder& b, op::UnaryKind kind, const Value& x) {
  using Kind = op::UnaryKind;
  switch (kind) {
    case Kind::silu: return times_sigmoid(b, x, 1.0);
    case Kind::gelu:
      return half_of_x_times_one_plus(b, x,
                                      b.unary("erf", b.binary("multiply", x, 1.0 / std::numbers::sqrt2)));
    case Kind::gelu_tanh: return gelu_tanh(b, x);
    case Kind::quick_gelu: return times_sigmoid(b, x, 1.702);
    case Kind::relu: return b.binary("maximum", x, 0.0);
    case Kind::sigmoid: return b.unary("logistic", x);
    case Kind::tanh: return b.unary("tanh", x);
    case Kind::exp: return b.unary("exponential", x);
    case Kind::sqrt: return b.unary("sqrt", x);
    case Kind::square: return b.binary("multiply", x, x);
    case Kind::cos: return b.unary("cosine", x);
    case Kind::sin: break;
  }
  return b.unary("sine", x);
}

std::string_view opcode(op::BinaryKind kind) {
  using Kind = op::BinaryKind;
  switch (kind) {
    case Kind::add: return "add";
    case Kind::sub: return "subtract";
    case Kind::mul: return "multiply";
    case Kind::div: return "divide";
    case Kind::maximum: return "maximum";
    case Kind::minimum: break;
  }
  return "minimum";
}

// The type in which a binary op is computed: halves in f32, and truth values count as 0 and 1.
DType arithmetic_type(DType dtype) {
  if (is_floating(dtype)) return DType::f32;
  return dtype == DType::boolean ? DType::i32 : dtype;
}

}  // namespace

Value lower(const op::Unary& op, const Context& c) { return c.rounded(unary(c.b, op.kind, c.f32(0))); }

Value lower(const op::Binary& op, const Context& c) {
  const DType dtype = arithmetic_type(c.result.dtype);
  const auto operand = [&](std::size_t i) {
    return broadcast_to(c.b, c.b.convert(c.operands[i], dtype), c.result.shape);
  };
  const Value a = operand(0), b = operand(1);
  return c.rounded(c.b.binary(opcode(op.kind), a, b));
}

Value lower(const op::Affine& op, const Context& c) {
  Value y = c.f32(0);
  if (op.scale != 1.0) y = c.b.binary("multiply", y, op.scale);
  if (op.offset != 0.0) y = c.b.binary("add", y, op.offset);
  return c.rounded(y);
}

Value lower(const op::Clamp& op, const Context& c) { return c.b.clamp(op.least, c.operands[0], op.most); }

Value lower(const op::LinearCombination&, const Context& c) {
  Value sum;
  for (std::size_t i = 1; i < c.operands.size(); ++i) {
    const auto term = static_cast<std::int64_t>(i) - 1;
    const Value coefficient = c.b.reshape(c.b.slice(c.operands[0], 0, term, term + 1), {});
    const Value product = c.b.binary("multiply", c.f32(i), c.b.splat(coefficient, c.result.shape));
    sum = i == 1 ? product : c.b.binary("add", sum, product);
  }
  return c.rounded(sum);
}

// Real cosines and sines of t · frequency; the frequencies are torch's to the bit.
Value lower(const op::TimestepEmbedding& op, const Context& c) {
  const auto half = op.dim / 2;
  const Shape shape{c.result.shape[0], half};
  const Value frequencies = c.b.constant({half}, graph::timestep_frequencies(op));
  const Value arguments = c.b.binary("multiply", c.b.broadcast(c.operands[0], shape, {0}),
                                     c.b.broadcast(frequencies, shape, {1}));
  const Value sine = c.b.unary("sine", arguments), cosine = c.b.unary("cosine", arguments);
  return c.b.concatenate(op.flip_sin_to_cos ? std::vector{cosine, sine} : std::vector{sine, cosine}, 1);
}

}  // namespace perfuse::hlo
