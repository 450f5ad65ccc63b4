#include "perfuse/backends/cpu/kernels/conv2d.h"

#include <algorithm>
#include <array>

#include "perfuse/backends/cpu/kernels/float_rows.h"

namespace perfuse::cpu {

ConvNode conv_node(const graph::op::Conv2d& op, const NodeInfo& node) {
  const auto& x = node.operands[0];
  const auto& weight = node.operands[1];
  std::optional<DType> bias;
  if (node.operands.size() > 2) bias = node.operands[2].dtype;
  return {x.shape[0],
          x.shape[1],
          x.shape[2],
          x.shape[3],
          node.result.shape[1],
          node.result.shape[2],
          weight.shape[0],
          weight.shape[1],
          weight.shape[2],
          weight.shape[3],
          x.dtype,
          weight.dtype,
          node.result.dtype,
          bias,
          node.is_parameter[1],
          op};
}

namespace {

class PlainConv2d final : public Kernel {
 public:
  explicit PlainConv2d(const ConvNode& node) : node_(node) {}

  void run(const KernelArgs& args) const override {
    visit_float(node_.x, [&](auto x) {
      visit_float(node_.weight, [&](auto weight) { run_typed<decltype(x), decltype(weight)>(args); });
    });
  }

 private:
  template <class F> static void visit_float(DType type, const F& f) {
    if (type == DType::bf16)
      f(bfloat16{});
    else if (type == DType::f16)
      f(float16{});
    else
      f(float{});
  }

  template <class X, class W> void run_typed(const KernelArgs& args) const {
    const auto rows = node_.batch * node_.out_height;
    parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t column = 0; column < node_.out_width; ++column)
          for (std::int64_t output = 0; output < node_.outputs; ++output) {
            float sum =
                window_sum<X, W>(args, row / node_.out_height, row % node_.out_height, column, output);
            if (node_.bias) {
              float bias = 0;
              sum += *read_f32(*node_.bias, args.operands[2], output, 1, &bias);
            }
            const auto position = (row * node_.out_width + column) * node_.outputs + output;
            float* y = target_f32(node_.result, args.result, position, &sum);
            *y = sum;
            store_f32(node_.result, args.result, position, 1, &sum);
          }
    });
  }

  template <class X, class W>
  float window_sum(const KernelArgs& args, std::int64_t image, std::int64_t row, std::int64_t column,
                   std::int64_t output) const {
    const auto& n = node_;
    const auto first_channel = output / (n.outputs / n.op.groups) * n.group_channels;
    float sum = 0;
    for (std::int64_t i = 0; i < n.kernel_height; ++i) {
      const auto y = row * n.op.stride - n.op.pad_top + i;
      if (y < 0 || y >= n.height) continue;
      for (std::int64_t j = 0; j < n.kernel_width; ++j) {
        const auto x = column * n.op.stride - n.op.pad_left + j;
        if (x < 0 || x >= n.width) continue;
        const X* pixel = elements<X>(args.operands[0]) + ((image * n.height + y) * n.width + x) * n.channels +
                         first_channel;
        const W* weight = elements<W>(args.operands[1]) +
                          ((output * n.kernel_height + i) * n.kernel_width + j) * n.group_channels;
        for (std::int64_t c = 0; c < n.group_channels; ++c)
          sum += static_cast<float>(pixel[c]) * static_cast<float>(weight[c]);
      }
    }
    return sum;
  }

  ConvNode node_;
};

}  // namespace

Candidate make_conv2d_plain(const graph::op::Conv2d& op, const NodeInfo& node) {
  return std::make_unique<PlainConv2d>(conv_node(op, node));
}

std::span<const KernelEntry<graph::op::Conv2d>> kernels(const graph::op::Conv2d&) {
  static constexpr std::array<KernelEntry<graph::op::Conv2d>, 2> entries{{
      {"onednn", make_conv2d_onednn},
      {"plain", make_conv2d_plain},
  }};
  return entries;
}

}  // namespace perfuse::cpu
