// Matrix products and convolutions, accumulated in f32.
#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {
namespace {

// Operands of one type: the halves' own where both have it, else f32.
std::pair<Value, Value> of_one_type(const Context& c) {
  const bool same = c.operands[0].dtype() == c.operands[1].dtype();
  return same ? std::pair{c.operands[0], c.operands[1]} : std::pair{c.f32(0), c.f32(1)};
}

Value with_bias(const Context& c, Value product) {
  if (c.operands.size() < 3) return c.rounded(product);
  return c.rounded(c.b.binary("add", product, along_last(c.b, c.f32(2), c.result.shape)));
}

}  // namespace

// XLA multiplies [height, width, input, output] as it lies; other orders it turns around in each run.
std::vector<int> wanted_permutation(const graph::op::Conv2d&, std::size_t operand) {
  return operand == 1 ? std::vector<int>{1, 2, 3, 0} : std::vector<int>{};
}

Value lower(const graph::op::Linear&, const Context& c) {
  const auto [x, weight] = of_one_type(c);
  return with_bias(c, c.b.dot(x, weight, {{x.rank() - 1}, {1}, {}, {}}, DType::f32));
}

Value lower(const graph::op::Conv2d& op, const Context& c) {
  const auto [x, weight] = of_one_type(c);
  ConvolutionWindow window{op.stride, op.pad_top, op.pad_bottom, op.pad_left, op.pad_right, op.groups};
  if (c.permuted[1])  // [height, width, input, output]
    window.kernel_height = 0, window.kernel_width = 1, window.kernel_input = 2, window.kernel_output = 3;
  return with_bias(c, c.b.convolution(x, weight, window, DType::f32));
}

}  // namespace perfuse::hlo
