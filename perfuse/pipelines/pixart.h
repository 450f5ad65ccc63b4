// PixArt-α and PixArt-Σ: T5 encoder, diffusion transformer, KL autoencoder.
#pragma once

#include "perfuse/pipelines/diffusion_pipeline.h"

namespace perfuse {

// 120 tokens by default, resolution and aspect ratio as conditions where the transformer has them.
struct PixArtAlphaPipeline {
  [[nodiscard]] static DiffusionPipeline from_pretrained(const std::filesystem::path& folder,
                                                         const LoadOptions& options = {});
};

// 300 tokens by default.
struct PixArtSigmaPipeline {
  [[nodiscard]] static DiffusionPipeline from_pretrained(const std::filesystem::path& folder,
                                                         const LoadOptions& options = {});
};

}  // namespace perfuse
