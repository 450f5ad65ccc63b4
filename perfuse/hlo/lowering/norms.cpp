// Normalisations and softmax, in f32.
#include <algorithm>
#include <limits>

#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {
namespace {

// Means over `axes`, repeated to x's shape.
Value mean_over(Builder& b, const Value& x, const Axes& axes) {
  double count = 1;
  Axes kept;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end())
      kept.push_back(i);
    else
      count *= static_cast<double>(x.dim(i));
  }
  const Value mean = b.binary("multiply", b.reduce(Reduction::sum, x, axes), 1.0 / count);
  return b.broadcast(mean, x.shape(), kept);
}

// (x − mean) / √(variance + eps)
Value standardized(Builder& b, const Value& x, const Axes& axes, double eps) {
  const Value centred = b.binary("subtract", x, mean_over(b, x, axes));
  const Value variance = mean_over(b, b.binary("multiply", centred, centred), axes);
  return b.binary("multiply", centred, b.unary("rsqrt", b.binary("add", variance, eps)));
}

Value scaled_and_shifted(const Context& c, Value x) {
  if (c.operands.size() == 1) return x;
  x = c.b.binary("multiply", x, along_last(c.b, c.f32(1), x.shape()));
  return c.b.binary("add", x, along_last(c.b, c.f32(2), x.shape()));
}

}  // namespace

Value lower(const graph::op::GroupNorm& op, const Context& c) {
  const auto batch = c.result.shape.front(), channels = c.result.shape.back();
  const auto positions = c.result.numel() / std::max<std::int64_t>(batch * channels, 1);
  const Value grouped = c.b.reshape(c.f32(0), {batch, positions, op.groups, channels / op.groups});
  const Value normed = c.b.reshape(standardized(c.b, grouped, {1, 3}, op.eps), c.result.shape);
  return c.rounded(scaled_and_shifted(c, normed));
}

Value lower(const graph::op::LayerNorm& op, const Context& c) {
  return c.rounded(scaled_and_shifted(c, standardized(c.b, c.f32(0), {c.operands[0].rank() - 1}, op.eps)));
}

Value lower(const graph::op::RmsNorm& op, const Context& c) {
  const Value x = c.f32(0);
  const Value mean_square = mean_over(c.b, c.b.binary("multiply", x, x), {x.rank() - 1});
  const Value quotient =
      c.rounded(c.b.binary("multiply", x, c.b.unary("rsqrt", c.b.binary("add", mean_square, op.eps))));
  const Value wide = c.b.convert(quotient, DType::f32);
  return c.rounded(c.b.binary("multiply", wide, along_last(c.b, c.f32(1), x.shape())));
}

Value softmax_last(Builder& b, Value x, HiddenRows hidden) {
  Axes kept;
  for (int i = 0; i + 1 < x.rank(); ++i) kept.push_back(i);
  const std::int64_t last = x.rank() - 1;
  Value most = b.reduce(Reduction::maximum, x, {last});
  // Neither bound moves another row: a sum of powers is at least 1, since the greatest is 1.
  if (hidden == HiddenRows::zero)
    most = b.binary("maximum", most, static_cast<double>(std::numeric_limits<float>::lowest()));
  const Value powers = b.unary("exponential", b.binary("subtract", x, b.broadcast(most, x.shape(), kept)));
  Value sum = b.reduce(Reduction::sum, powers, {last});
  if (hidden == HiddenRows::zero)
    sum = b.binary("maximum", sum, static_cast<double>(std::numeric_limits<float>::min()));
  return b.binary("divide", powers, b.broadcast(sum, x.shape(), kept));
}

Value lower(const graph::op::Softmax&, const Context& c) {
  return c.rounded(softmax_last(c.b, c.f32(0), HiddenRows::not_a_number));
}

}  // namespace perfuse::hlo
