// Timestep, patch and caption embeddings of diffusers' transformers and U-Nets.
#pragma once

#include "perfuse/nn/layers.h"

namespace perfuse::nn {

// TimestepEmbedding: linear_1, SiLU, linear_2.
Value timestep_mlp(Builder& b, std::string_view name, Value x, std::int64_t channels);

// Sinusoids of t f32[N], converted to the compute type, through timestep_mlp.
Value timestep_projection(Builder& b, std::string_view name, Value t, std::int64_t sinusoids,
                          std::int64_t channels);

// x · (1 + scale) + shift, scale and shift broadcasting over positions ([B, 1, C]).
Value modulate(Builder& b, Value x, Value shift, Value scale);

// The sine-cosine table of PatchEmbed for a grid of height × width patches: f32 [1, height · width, channels]. The first
// half of the channels is of the column, the second of the row; positions are scaled so that a grid of `base_size`
// spans as many units, divided by `interpolation_scale`. (diffusers: get_2d_sincos_pos_embed.)
[[nodiscard]] Tensor sincos_position_table(std::int64_t channels, std::int64_t height, std::int64_t width,
                                           std::int64_t base_size, double interpolation_scale);

}  // namespace perfuse::nn
