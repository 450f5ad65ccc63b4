// The working data of one call of a PixArt pipeline.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "perfuse/pipelines/pixart_pipeline.h"

namespace perfuse {

struct PixArtPipeline::Models : LoadedModels {
  std::unique_ptr<T5EncoderModel> text_encoder;
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
};

// Encoder states [images, L, D] and masks i32 [images, L]. With batched guidance `both` holds the negative states, then
// the positive; else they are apart (and no negative ones without guidance).
struct PixArtPipeline::Text {
  runtime::BufferPtr both, negative, positive;
  Tensor negative_mask, positive_mask;

  // prompt_embeds, negative_prompt_embeds and their masks for whoever asked.
  void dump(const RunLog& log, const Models& models, const Plan& plan) const {
    if (!log.wants_tensors()) return;
    Tensor first, second;
    if (both) {
      const Tensor all = models.context->download(both);
      first = all.slice(0, 0, plan.images);
      second = all.slice(0, plan.images, 2 * plan.images);
    } else {
      second = models.context->download(positive);
      if (negative) first = models.context->download(negative);
    }
    log.tensor("prompt_embeds", second);
    log.tensor("prompt_attention_mask", positive_mask.to(DType::i64));
    if (!plan.guided) return;
    log.tensor("negative_prompt_embeds", first);
    log.tensor("negative_prompt_attention_mask", negative_mask.to(DType::i64));
  }
};

}  // namespace perfuse
