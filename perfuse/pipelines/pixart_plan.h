// The working data of one call of a PixArt pipeline.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "perfuse/pipelines/pixart_pipeline.h"

namespace perfuse {

struct PixArtPipeline::Models : LoadedModels {
  std::unique_ptr<T5EncoderModel> text_encoder;  // null where the folder has none
  std::unique_ptr<PixArtTransformer2DModel> transformer;
  std::unique_ptr<AutoencoderKL> vae;
};

// Arguments with every default filled in and every check made.
struct PixArtPipeline::Plan {
  PixelSize wanted, drawn;  // drawn is the training size where binning applies
  bool binned = false;
  std::int64_t latent_height = 0, latent_width = 0;
  std::int64_t prompts = 1, images = 1, text_length = 0;
  double guidance_scale = 4.5;
  bool guided = true, batched = true;
  std::vector<std::string> negative;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<std::uint64_t> seeds;
  std::vector<Generator> generators;

  // Says that another size is drawn than was asked for, and what that costs.
  void tell_binning() const;
  // Of the sample in one run of the transformer.
  [[nodiscard]] int copies() const { return guided && batched ? 2 : 1; }
  [[nodiscard]] PixArtTransformer2DModel::Sizes transformer_sizes() const {
    return {images * copies(), latent_height, latent_width, text_length};
  }
};

// Encoder states [images, L, D] and masks i32 [images, L]. With batched guidance `both` holds the negative states, then
// the positive; else they are apart (and no negative ones without guidance).
struct PixArtPipeline::Text {
  runtime::BufferPtr both, negative, positive;
  Tensor negative_mask, positive_mask;

  // prompt_embeds, negative_prompt_embeds and their masks for whoever asked.
  void dump(const RunLog& log, const Models& models, const Plan& plan) const;
};

}  // namespace perfuse
