// diffusers' AutoencoderKL: pictures to latents and back.
#pragma once

#include "perfuse/models/model.h"

namespace perfuse {

struct AutoencoderKLConfig {
  std::int64_t in_channels, out_channels, latent_channels, layers_per_block, norm_num_groups;
  std::vector<std::int64_t> block_out_channels;
  bool use_quant_conv, use_post_quant_conv, mid_block_add_attention;
  double scaling_factor;
  graph::op::UnaryKind activation;  // of the resnet blocks

  // How many pixels a latent spans in each direction.
  [[nodiscard]] std::int64_t scale() const { return std::int64_t{1} << (block_out_channels.size() - 1); }
  [[nodiscard]] static AutoencoderKLConfig read(const ConfigReader& config);
};

class AutoencoderKL : public Model {
 public:
  AutoencoderKL(const std::filesystem::path& folder, const ModelOptions& options);

  [[nodiscard]] std::string_view class_name() const override { return "AutoencoderKL"; }
  [[nodiscard]] const AutoencoderKLConfig& config() const { return config_; }

  // Input z [B, h, w, latent_channels]; output sample [B, h·scale, w·scale, out_channels], about −1…1.
  [[nodiscard]] graph::Graph decoder_graph(std::int64_t batch, std::int64_t height, std::int64_t width) const;
  // Input x [B, H, W, in_channels] in −1…1; outputs mean, logvar (clamped to −30…20), std [B, h, w, latent_channels].
  [[nodiscard]] graph::Graph encoder_graph(std::int64_t batch, std::int64_t height, std::int64_t width) const;

  // `latents` NHWC, already divided by scaling_factor.
  [[nodiscard]] runtime::NamedBuffers decode(const runtime::BufferPtr& latents,
                                             const runtime::RunOptions& options = {}) const;
  [[nodiscard]] runtime::NamedBuffers encode(const runtime::BufferPtr& images,
                                             const runtime::RunOptions& options = {}) const;

 private:
  AutoencoderKLConfig config_;
};

}  // namespace perfuse
