// Multi-head attention as diffusers' Attention module has it.
#pragma once

#include "perfuse/nn/layers.h"

namespace perfuse::nn {

struct AttentionOptions {
  std::int64_t heads = 1;
  std::int64_t head_dim = 64;
  Bias qkv_bias = Bias::no;
};

// hidden [B, S, C], context [B, T, E] (the hidden states again for self-attention), bias [B, 1, 1|S, T] or none →
// [B, S, C]. Parameters to_q, to_k, to_v, to_out.0; scores are divided by √head_dim.
Value attention(Builder& b, std::string_view name, Value hidden, Value context, Value bias,
                const AttentionOptions& options);

// [B, S, heads · head_dim] → [B, S, heads, head_dim].
Value split_heads(Builder& b, Value x, std::int64_t heads);
// and back.
Value merge_heads(Builder& b, Value x);

}  // namespace perfuse::nn
