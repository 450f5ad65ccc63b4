// The convolutional blocks that U-Nets and autoencoders share.
#pragma once

#include <optional>

#include "perfuse/nn/layers.h"

namespace perfuse::nn {

struct ResnetOptions {
  std::int64_t out_channels = 0;
  std::int64_t groups = 32;
  double eps = 1e-6;
  graph::op::UnaryKind activation = graph::op::UnaryKind::silu;
};

// ResnetBlock2D: norm1, activation, conv1, norm2, activation, conv2, plus the input (through conv_shortcut where the channels
// differ). A block of its own in block granularity.
Value resnet_block_2d(Builder& b, std::string_view name, Value x, const ResnetOptions& options);

// Upsample2D: nearest to twice the size, then a 3×3 convolution `conv`.
Value upsample_2d(Builder& b, std::string_view name, Value x);

// Downsample2D(padding=0) of autoencoders: one row and column of zeros at the bottom and right, 3×3 with stride 2.
Value downsample_2d_asymmetric(Builder& b, std::string_view name, Value x);

}  // namespace perfuse::nn
