// The kernels of conv2d: NHWC in and out, weights [O, KH, KW, C / groups].
#pragma once

#include <cstdint>
#include <optional>

#include "perfuse/backends/cpu/kernel.h"

namespace perfuse::cpu {

struct ConvNode {
  std::int64_t batch, height, width, channels;  // of x
  std::int64_t out_height, out_width, outputs;  // of the result
  std::int64_t kernel_height, kernel_width, group_channels;
  DType x, weight, result;
  std::optional<DType> bias;
  bool weight_is_parameter;
  graph::op::Conv2d op;
};
[[nodiscard]] ConvNode conv_node(const graph::op::Conv2d& op, const NodeInfo& node);

// oneDNN's NHWC convolutions, weights in the layout that it likes for any image size.
[[nodiscard]] Candidate make_conv2d_onednn(const graph::op::Conv2d& op, const NodeInfo& node);
// All legal nodes, slowly.
[[nodiscard]] Candidate make_conv2d_plain(const graph::op::Conv2d& op, const NodeInfo& node);

}  // namespace perfuse::cpu
