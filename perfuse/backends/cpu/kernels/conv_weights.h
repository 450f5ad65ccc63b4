// Convolution weights on their way from the file to oneDNN.
#pragma once

#include <memory>

#include "perfuse/backends/cpu/kernels/conv2d.h"
#include "perfuse/backends/cpu/onednn.h"

namespace perfuse::cpu {

// The layout of [O, KH, KW, C / groups] as oneDNN's logical (G,) O, I, H, W.
[[nodiscard]] onednn::Desc plain_conv_weights(const ConvNode& node, DType type);

// A parameter of layout `plain` kept in `layout`, with elements of type `stored` (that of the file, where a f32 copy
// would be large).
[[nodiscard]] std::shared_ptr<const runtime::ParameterFormat> conv_weight_format(const onednn::Desc& layout,
                                                                                 const onednn::Desc& plain,
                                                                                 DType computed,
                                                                                 DType stored);

}  // namespace perfuse::cpu
