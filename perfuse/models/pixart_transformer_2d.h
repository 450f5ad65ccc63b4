// diffusers' PixArtTransformer2DModel: the denoiser of PixArt-α and PixArt-Σ.
#pragma once

#include "perfuse/models/model.h"

namespace perfuse {

struct PixArtTransformer2DConfig {
  std::int64_t num_attention_heads, attention_head_dim, in_channels, out_channels, num_layers;
  std::int64_t cross_attention_dim, caption_channels, sample_size, patch_size;
  bool attention_bias, use_additional_conditions;
  double norm_eps, interpolation_scale;
  graph::op::UnaryKind activation;

  [[nodiscard]] std::int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  [[nodiscard]] static PixArtTransformer2DConfig read(const ConfigReader& config);
};

class PixArtTransformer2DModel : public Model {
 public:
  PixArtTransformer2DModel(const std::filesystem::path& folder, const ModelOptions& options);

  [[nodiscard]] std::string_view class_name() const override { return "PixArtTransformer2DModel"; }
  [[nodiscard]] const PixArtTransformer2DConfig& config() const { return config_; }

  struct Sizes {
    std::int64_t batch, height, width;  // of the latents
    std::int64_t text_length;
  };
  // Inputs hidden_states [B, h, w, in_channels], encoder_hidden_states [B, L, caption_channels],
  // encoder_attention_bias [B, 1, 1, L], timestep f32[B], position_table [1, tokens, inner_dim], and with additional
  // conditions resolution f32[B·2], aspect_ratio f32[B]; output sample [B, h, w, out_channels].
  [[nodiscard]] graph::Graph graph(const Sizes& sizes) const;

  // What stays the same from step to step.
  struct Conditions {
    runtime::BufferPtr encoder_hidden_states;
    Tensor encoder_attention_mask;  // i32 [B, L]
    Tensor resolution;              // f32 [B, 2], height and width in pixels; only with additional conditions
    Tensor aspect_ratio;            // f32 [B, 1]
  };
  // Uploads them (once per picture) in the graph's form.
  [[nodiscard]] runtime::NamedBuffers prepare(const Sizes& sizes, const Conditions& conditions) const;
  // `prepared` from prepare(); timestep f32[B]. Outputs: sample and the taps.
  [[nodiscard]] runtime::NamedBuffers run(const Sizes& sizes, runtime::NamedBuffers prepared,
                                          runtime::BufferPtr hidden_states, runtime::BufferPtr timestep,
                                          const runtime::RunOptions& options = {}) const;

 private:
  PixArtTransformer2DConfig config_;
};

}  // namespace perfuse
