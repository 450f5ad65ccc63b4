// The first stage of a PixArt pipeline: prompts to encoder states and masks.
#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/pipelines/pixart_plan.h"
#include "perfuse/tokenizers/caption_cleaning.h"
#include "perfuse/tokenizers/text_case.h"

namespace perfuse {
namespace {

// A prompt as the text encoder's tokenizer gets it.
std::string prepare_text(const CallArguments& arguments, const std::string& text) {
  return arguments.clean_caption.value_or(true) ? clean_caption(text) : lower_and_strip(text);
}

Tensor as_i64(const std::vector<std::int32_t>& values, Shape shape) {
  return Tensor::from(std::move(shape), values).to(DType::i64);
}

}  // namespace

PixArtPipeline::Text PixArtPipeline::encode_prompt(const CallArguments& a, const Plan& plan,
                                                   const Models& models, RunLog& log) const {
  std::vector<std::string> positive, negative;
  for (const auto& prompt : a.prompt.values()) positive.push_back(prepare_text(a, prompt));
  for (const auto& prompt : plan.negative) negative.push_back(prepare_text(a, prompt));
  const TokenBatch tokens = tokenizer_->encode_batch(positive, plan.text_length);
  const TokenBatch negative_tokens = tokenizer_->encode_batch(negative, plan.text_length);
  for (std::size_t i = 0; i < tokens.truncated.size(); ++i)
    if (!tokens.truncated[i].empty())
      log.warn(fmt::format("prompt {}: longer than {} tokens; left out: {}", i + 1, plan.text_length,
                           quote(tokens.truncated[i], 200)));

  const Shape shape{plan.prompts, plan.text_length};
  log.tensor("input_ids", as_i64(tokens.ids, shape));
  const bool apart = plan.guided && !plan.batched;
  const auto encode = [&](const Tensor& ids, const Tensor& mask) {
    const auto options = log.options_for("text_encoder", apart ? 2 : 1);
    const auto outputs = models.text_encoder->run(ids, mask, options);
    log.taps("text_encoder", options, outputs);
    return models.programs->repeat_interleave(outputs.at("last_hidden_state"), a.num_images_per_prompt);
  };

  Text text;
  const Tensor ids = Tensor::from(shape, tokens.ids), mask = Tensor::from(shape, tokens.mask);
  text.positive_mask = mask.repeat_interleave(a.num_images_per_prompt);
  if (!plan.guided) {
    text.positive = encode(ids, mask);
    return text;
  }
  log.tensor("negative_input_ids", as_i64(negative_tokens.ids, shape));
  const Tensor negative_ids = Tensor::from(shape, negative_tokens.ids),
               negative_mask = Tensor::from(shape, negative_tokens.mask);
  text.negative_mask = negative_mask.repeat_interleave(a.num_images_per_prompt);
  if (apart) {
    text.negative = encode(negative_ids, negative_mask);
    text.positive = encode(ids, mask);
  } else {
    const std::array both_ids{negative_ids, ids}, both_masks{negative_mask, mask};
    text.both = encode(concat(both_ids, 0), concat(both_masks, 0));
  }
  return text;
}

PixArtPipeline::Text PixArtPipeline::given_embeddings(const CallArguments& a, const Plan& plan,
                                                      const Models& models, RunLog& log) const {
  const auto width = models.transformer->config().caption_channels;
  if (a.prompt_embeds.dim(2) != width)
    fail(ErrorKind::usage, "prompt_embeds: width {}, the transformer takes {}", a.prompt_embeds.dim(2),
         width);
  const auto images = a.num_images_per_prompt;
  Text text;
  const Tensor positive = a.prompt_embeds.to(models.dtype).repeat_interleave(images);
  text.positive_mask = a.prompt_attention_mask.to(DType::i32).repeat_interleave(images);
  auto& context = *models.context;
  if (!plan.guided) {
    text.positive = context.upload(positive);
    return text;
  }
  Tensor negative;
  if (a.negative_prompt_embeds.numel() > 0) {
    negative = a.negative_prompt_embeds.to(models.dtype).repeat_interleave(images);
    text.negative_mask = a.negative_prompt_attention_mask.to(DType::i32).repeat_interleave(images);
  } else {  // as in diffusers: the negative prompt's own encoding, at the length of the embeddings given
    std::vector<std::string> texts;
    for (const auto& prompt : plan.negative) texts.push_back(prepare_text(a, prompt));
    const TokenBatch tokens = tokenizer_->encode_batch(texts, plan.text_length);
    const Shape shape{plan.prompts, plan.text_length};
    const Tensor mask = Tensor::from(shape, tokens.mask);
    const auto options = log.options_for("text_encoder");
    const auto outputs = models.text_encoder->run(Tensor::from(shape, tokens.ids), mask, options);
    log.taps("text_encoder", options, outputs);
    negative = context.download(outputs.at("last_hidden_state")).repeat_interleave(images);
    text.negative_mask = mask.repeat_interleave(images);
  }
  if (plan.batched) {
    const std::array both{negative, positive};
    text.both = context.upload(concat(both, 0));
  } else {
    text.positive = context.upload(positive);
    text.negative = context.upload(negative);
  }
  return text;
}

void PixArtPipeline::Text::dump(const RunLog& log, const Models& models, const Plan& plan) const {
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

}  // namespace perfuse
