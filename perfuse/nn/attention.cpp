#include "perfuse/nn/attention.h"

#include <cmath>

namespace perfuse::nn {

Value split_heads(Builder& b, Value x, std::int64_t heads) {
  return b.reshape(x, {b.dim(x, 0), b.dim(x, 1), heads, b.dim(x, 2) / heads});
}

Value merge_heads(Builder& b, Value x) {
  return b.reshape(x, {b.dim(x, 0), b.dim(x, 1), b.dim(x, 2) * b.dim(x, 3)});
}

Value attention(Builder& b, std::string_view name, Value hidden, Value context, Value bias,
                const AttentionOptions& options) {
  const auto scope = b.scope(name);
  const auto inner = options.heads * options.head_dim;
  const Value q = split_heads(b, linear(b, "to_q", hidden, inner, options.qkv_bias), options.heads);
  const Value k = split_heads(b, linear(b, "to_k", context, inner, options.qkv_bias), options.heads);
  const Value v = split_heads(b, linear(b, "to_v", context, inner, options.qkv_bias), options.heads);
  const double scale = 1.0 / std::sqrt(static_cast<double>(options.head_dim));
  const Value mixed = merge_heads(b, b.attention(q, k, v, bias, scale));
  return b.module_output(linear(b, "to_out.0", mixed, b.dim(hidden, -1)));
}

}  // namespace perfuse::nn
