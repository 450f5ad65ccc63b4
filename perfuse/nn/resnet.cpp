#include "perfuse/nn/resnet.h"

namespace perfuse::nn {

Value resnet_block_2d(Builder& b, std::string_view name, Value x, const ResnetOptions& options) {
  const auto scope = b.block(name);
  Value hidden = b.unary(options.activation, group_norm(b, "norm1", x, options.groups, options.eps));
  hidden = conv2d(b, "conv1", hidden, options.out_channels, 3, 1, 1);
  hidden = b.unary(options.activation, group_norm(b, "norm2", hidden, options.groups, options.eps));
  hidden = conv2d(b, "conv2", hidden, options.out_channels, 3, 1, 1);
  const Value shortcut =
      b.dim(x, -1) == options.out_channels ? x : conv2d(b, "conv_shortcut", x, options.out_channels, 1);
  return b.module_output(b.add(shortcut, hidden));
}

Value upsample_2d(Builder& b, std::string_view name, Value x) {
  const auto scope = b.block(name);
  const Value large = b.upsample_nearest(x, 2 * b.dim(x, 1), 2 * b.dim(x, 2));
  return b.module_output(conv2d(b, "conv", large, b.dim(x, -1), 3, 1, 1));
}

Value downsample_2d_asymmetric(Builder& b, std::string_view name, Value x) {
  const auto scope = b.block(name);
  return b.module_output(conv2d_padded(b, "conv", x, b.dim(x, -1), 3, {2, 0, 1, 0, 1, 1}));
}

}  // namespace perfuse::nn
