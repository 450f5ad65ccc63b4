// The small layers. Each opens the scope `name`, declares torch's parameters under torch's names, and
// returns the module's output. Images are NHWC.
#pragma once

#include <cstdint>
#include <string_view>

#include "perfuse/graph/builder.h"

namespace perfuse::nn {

using graph::Builder;
using graph::Value;

enum class Bias { no, yes };

// torch.nn.Linear: weight [out, in], bias [out].
Value linear(Builder& b, std::string_view name, Value x, std::int64_t out_features, Bias bias = Bias::yes);

// torch.nn.Conv2d with a square kernel; `padding` on all sides.
Value conv2d(Builder& b, std::string_view name, Value x, std::int64_t out_channels, std::int64_t kernel,
             std::int64_t stride = 1, std::int64_t padding = 0);
// The same with its own padding on each side.
Value conv2d_padded(Builder& b, std::string_view name, Value x, std::int64_t out_channels,
                    std::int64_t kernel, graph::op::Conv2d attributes);

// torch.nn.GroupNorm over the channels of NHWC.
Value group_norm(Builder& b, std::string_view name, Value x, std::int64_t groups, double eps);

// torch.nn.LayerNorm(elementwise_affine=False).
Value layer_norm_plain(Builder& b, std::string_view name, Value x, double eps);

// T5LayerNorm and its kind: weight alone, no mean.
Value rms_norm(Builder& b, std::string_view name, Value x, double eps);

// An activation by its name in one of the tables that configurations refer to. Error(unsupported) for any other name, with
// `where` (file: field) in front.
enum class ActivationNames {
  transformers,  // ACT2FN: "gelu" (exact), "gelu_new" (with tanh), "relu", "silu", …
  diffusers,     // get_activation: "silu", "swish", "gelu", "relu", in any case
  feed_forward,  // FeedForward's activation_fn: "gelu", "gelu-approximate", "linear-silu"
};
graph::op::UnaryKind activation(ActivationNames names, std::string_view name, std::string_view where);

}  // namespace perfuse::nn
