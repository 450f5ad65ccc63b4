#include "perfuse/pipelines/pixart_pipeline.h"

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/image/postprocess.h"
#include "perfuse/pipelines/check_inputs.h"
#include "perfuse/pipelines/pixart_plan.h"
#include "perfuse/pipelines/scheduler_runner.h"
#include "perfuse/runtime/host_memory.h"
#include "perfuse/tokenizers/caption_cleaning.h"
#include "perfuse/tokenizers/text_case.h"

namespace perfuse {

using runtime::BufferPtr;

namespace {

// Models that together take more than this part of memory leave it when their stage is over.
constexpr std::uint64_t kResidentFraction = 4;

bool too_large_to_keep(const std::vector<Model*>& models) {
  std::uint64_t total = 0;
  for (const Model* model : models) total += model->component().weights()->total_bytes();
  return total > runtime::host_memory_limit() / kResidentFraction;
}

// A prompt as the text encoder's tokenizer gets it.
std::string prepare_text(const CallArguments& arguments, const std::string& text) {
  return arguments.clean_caption.value_or(true) ? clean_caption(text) : lower_and_strip(text);
}

Tensor as_i64(const std::vector<std::int32_t>& values, Shape shape) {
  return Tensor::from(std::move(shape), values).to(DType::i64);
}

}  // namespace

PixArtPipeline::PixArtPipeline(ModelIndex index, const LoadOptions& options, const PixArtTraits& traits)
    : PipelineImplementation(std::move(index), options),
      traits_(traits),
      tokenizer_(T5Tokenizer::from_pretrained(
          this->index().component("tokenizer", {"T5Tokenizer", "T5TokenizerFast"}))) {
  scheduler_file_ = this->index().component("scheduler", scheduler_names()) / "scheduler_config.json";
  static_cast<void>(make_scheduler(ConfigReader(scheduler_file_)));  // says now what is wrong with it
  static_cast<void>(loaded());
}

std::shared_ptr<LoadedModels> PixArtPipeline::load(std::shared_ptr<runtime::DeviceContext> context,
                                                   const LoadOptions& options) {
  auto result = std::make_shared<Models>();
  const ModelOptions model_options{context, *options.dtype, options.granularity, options.variant};
  result->context = context;
  result->dtype = *options.dtype;
  result->programs = std::make_unique<LatentPrograms>(context, *options.dtype);
  result->text_encoder =
      std::make_unique<T5EncoderModel>(index().component("text_encoder", {"T5EncoderModel"}), model_options);
  result->transformer = std::make_unique<PixArtTransformer2DModel>(
      index().component("transformer", {"PixArtTransformer2DModel"}), model_options);
  result->vae = std::make_unique<AutoencoderKL>(index().component("vae", {"AutoencoderKL"}), model_options);
  result->models = {result->text_encoder.get(), result->transformer.get(), result->vae.get()};

  const auto& t = result->transformer->config();
  const auto& text_width = result->text_encoder->config().d_model;
  if (t.caption_channels != text_width)
    fail(ErrorKind::model, "{}: the transformer takes caption_channels {}, the text encoder gives d_model {}",
         index().folder.string(), t.caption_channels, text_width);
  const auto latent_channels = result->vae->config().latent_channels;
  if (t.in_channels != latent_channels)
    fail(ErrorKind::model, "{}: the transformer's in_channels is {}, the autoencoder's latent_channels {}",
         index().folder.string(), t.in_channels, latent_channels);
  if (t.out_channels != t.in_channels && t.out_channels / 2 != t.in_channels)
    fail(ErrorKind::model,
         "{}: the transformer's out_channels is {}, expected in_channels, {}, or twice as many",
         index().folder.string(), t.out_channels, t.in_channels);
  if (result->vae->config().out_channels != 3)
    fail(ErrorKind::model, "{}: the autoencoder's out_channels is {}, expected 3", index().folder.string(),
         result->vae->config().out_channels);
  if (tokenizer_.vocabulary_size() > result->text_encoder->config().vocab_size)
    fail(ErrorKind::model, "{}: the tokenizer has {} tokens, the text encoder vocab_size {}",
         index().folder.string(), tokenizer_.vocabulary_size(), result->text_encoder->config().vocab_size);

  // Building each graph once finds every missing or misshapen weight, before anything is read or run.
  const auto patch = t.patch_size;
  static_cast<void>(result->text_encoder->graph(1, 2));
  static_cast<void>(result->transformer->graph({1, patch, patch, 2}));
  static_cast<void>(result->vae->decoder_graph(1, 8, 8));
  return result;
}

PixArtPipeline::Plan PixArtPipeline::resolve(const CallArguments& a, const Models& models) const {
  Plan plan;
  check_common(a);
  check_taps(a, {"text_encoder", "transformer", "vae"});
  const auto& transformer = models.transformer->config();
  const auto scale = models.vae->config().scale();
  const auto side = transformer.sample_size * scale;
  plan.wanted = {a.height.value_or(side), a.width.value_or(side)};
  const SizeRules rules{scale * transformer.patch_size, 16384};
  plan.drawn = plan.wanted;
  if (a.use_resolution_binning) {
    check_size(plan.wanted, {1, rules.most});
    if (const auto bin = nearest_bin(transformer.sample_size, plan.wanted)) {
      plan.drawn = *bin;
      plan.binned = true;
    }
  }
  check_size(plan.drawn, rules);
  plan.latent_height = plan.drawn.height / scale;
  plan.latent_width = plan.drawn.width / scale;

  plan.prompts = prompt_count(a);
  plan.images = plan.prompts * a.num_images_per_prompt;
  plan.guidance_scale = a.guidance_scale.value_or(4.5);
  plan.guided = plan.guidance_scale > 1.0;
  plan.negative = negative_prompts(a, plan.prompts);
  if (plan.guided && a.prompt_embeds.numel() > 0 && a.negative_prompt_embeds.numel() == 0 &&
      !a.negative_prompt && a.prompt_embeds.dim(1) < 2)
    fail(ErrorKind::usage, "prompt_embeds: too short for a negative prompt");
  plan.text_length = a.prompt_embeds.numel() > 0
                         ? a.prompt_embeds.dim(1)
                         : a.max_sequence_length.value_or(traits_.max_sequence_length);

  if (a.cfg == CfgMode::parallel)
    fail(ErrorKind::unsupported, "cfg parallel: needs a mesh of two groups; this model runs on one device");
  plan.batched = a.cfg == CfgMode::batched ||
                 (a.cfg == CfgMode::automatic && models.context->device().kind() == DeviceKind::cpu);

  const ConfigReader config(scheduler_file_);
  plan.scheduler = a.scheduler ? make_scheduler(config, a.scheduler->class_name, a.scheduler->config)
                               : make_scheduler(config);
  TimestepRequest request{std::nullopt, a.timesteps, a.sigmas, std::nullopt};
  if (a.timesteps.empty() && a.sigmas.empty())
    request.num_inference_steps = a.num_inference_steps.value_or(20);
  plan.scheduler->set_timesteps(request);
  plan.generators = make_generators(a, plan.images, plan.seeds);
  return plan;
}

PixArtPipeline::Text PixArtPipeline::encode_prompt(const CallArguments& a, const Plan& plan,
                                                   const Models& models, RunLog& log) const {
  std::vector<std::string> positive, negative;
  for (const auto& prompt : a.prompt.values()) positive.push_back(prepare_text(a, prompt));
  for (const auto& prompt : plan.negative) negative.push_back(prepare_text(a, prompt));
  const TokenBatch tokens = tokenizer_.encode_batch(positive, plan.text_length);
  const TokenBatch negative_tokens = tokenizer_.encode_batch(negative, plan.text_length);
  for (std::size_t i = 0; i < tokens.truncated.size(); ++i)
    if (!tokens.truncated[i].empty())
      log.warn(fmt::format("prompt {}: longer than {} tokens; left out: {}", i + 1, plan.text_length,
                           quote(tokens.truncated[i], 200)));

  const Shape shape{plan.prompts, plan.text_length};
  log.tensor("input_ids", as_i64(tokens.ids, shape));
  const auto encode = [&](const Tensor& ids, const Tensor& mask) {
    const auto options = log.options_for("text_encoder");
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
  if (plan.batched) {
    const std::array both_ids{negative_ids, ids}, both_masks{negative_mask, mask};
    text.both = encode(concat(both_ids, 0), concat(both_masks, 0));
  } else {
    text.positive = encode(ids, mask);
    text.negative = encode(negative_ids, negative_mask);
  }
  return text;
}

PixArtPipeline::Text PixArtPipeline::given_embeddings(const CallArguments& a, const Plan& plan,
                                                      const Models& models) const {
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
    const TokenBatch tokens = tokenizer_.encode_batch(texts, plan.text_length);
    const Shape shape{plan.prompts, plan.text_length};
    const Tensor mask = Tensor::from(shape, tokens.mask);
    const auto outputs = models.text_encoder->run(Tensor::from(shape, tokens.ids), mask, {{}, a.stop});
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

BufferPtr PixArtPipeline::initial_latents(const CallArguments& a, Plan& plan, const Models& models) const {
  const Shape shape{plan.images, models.transformer->config().in_channels, plan.latent_height,
                    plan.latent_width};
  Tensor noise;
  if (a.latents.numel() > 0) {
    if (a.latents.shape() != shape)
      fail(ErrorKind::usage, "latents: shape {}, expected {}", to_string(a.latents.shape()),
           to_string(shape));
    if (!all_finite(a.latents)) fail(ErrorKind::usage, "latents: hold NaN or infinite values");
    noise = a.latents.to(models.dtype);
  } else {
    noise = randn_tensor(shape, plan.generators, models.dtype);
  }
  const BufferPtr uploaded = models.context->upload(nchw_to_nhwc(noise));
  const double sigma = plan.scheduler->init_noise_sigma();
  return sigma == 1.0 ? uploaded : models.programs->combine({sigma}, {uploaded}, models.dtype);
}

BufferPtr PixArtPipeline::denoise(const CallArguments& a, Plan& plan, const Text& text, const Models& models,
                                  RunLog& log) const {
  const auto& transformer = *models.transformer;
  const auto channels = transformer.config().in_channels;
  const int copies = plan.guided && plan.batched ? 2 : 1;
  const PixArtTransformer2DModel::Sizes sizes{plan.images * copies, plan.latent_height, plan.latent_width,
                                              plan.text_length};

  const auto prepare = [&](const BufferPtr& states, const Tensor& mask) {
    PixArtTransformer2DModel::Conditions conditions{states, mask, {}, {}};
    if (transformer.config().use_additional_conditions) {
      const bool known = traits_.micro_conditions && transformer.config().sample_size == 128;
      if (!known)
        fail(ErrorKind::unsupported,
             "{}: use_additional_conditions is set, but {} gives the transformer no resolution{}",
             transformer.folder().string(), traits_.class_name,
             traits_.micro_conditions ? " unless sample_size is 128" : "");
      const auto height = static_cast<float>(plan.drawn.height), width = static_cast<float>(plan.drawn.width);
      const auto ratio =
          static_cast<float>(static_cast<double>(plan.drawn.height) / static_cast<double>(plan.drawn.width));
      // They pass through the arithmetic's type on their way.
      conditions.resolution = Tensor::from<float>({1, 2}, {height, width})
                                  .to(models.dtype)
                                  .to(DType::f32)
                                  .repeat_interleave(sizes.batch);
      conditions.aspect_ratio =
          Tensor::from<float>({1, 1}, {ratio}).to(models.dtype).to(DType::f32).repeat_interleave(sizes.batch);
    }
    return transformer.prepare(sizes, conditions);
  };
  std::vector<runtime::NamedBuffers> prepared;  // for each run of the transformer in a step
  if (copies == 2) {
    const std::array masks{text.negative_mask, text.positive_mask};
    prepared.push_back(prepare(text.both, concat(masks, 0)));
  } else {
    if (plan.guided) prepared.push_back(prepare(text.negative, text.negative_mask));
    prepared.push_back(prepare(text.positive, text.positive_mask));
  }

  const auto& timesteps = plan.scheduler->timesteps();
  const int steps = static_cast<int>(timesteps.size());
  SchedulerRunner runner(*plan.scheduler, *models.programs, *models.context,
                         initial_latents(a, plan, models));
  log.nhwc("latents_initial", runner.sample());
  for (int i = 0; i < steps; ++i) {
    if (a.stop.stop_requested()) fail(ErrorKind::cancelled, "stopped after {} of {} steps", i, steps);
    const double t = timesteps[static_cast<std::size_t>(i)];
    const BufferPtr timestep = models.context->upload(Tensor::from(
        {sizes.batch}, std::vector<float>(static_cast<std::size_t>(sizes.batch), static_cast<float>(t))));
    const BufferPtr input = runner.model_input(i, copies);
    std::vector<BufferPtr> predictions;
    for (const auto& conditions : prepared) {
      const auto options = log.options_for("transformer");
      const auto outputs = transformer.run(sizes, conditions, input, timestep, options);
      log.taps("transformer", options, outputs);
      predictions.push_back(outputs.at("sample"));
    }
    const BufferPtr model_output = plan.guided
                                       ? models.programs->guide(predictions, plan.guidance_scale, channels)
                                       : models.programs->first_channels(predictions[0], channels);
    if (i == 0) log.nhwc("model_output.step0", model_output);
    runner.step(i, model_output, plan.generators);
    log.nhwc(fmt::format("latents.step{}", i), runner.sample());
    log.progress(i + 1, steps);
    if (a.callback_on_step_end) {
      const BufferPtr sample = runner.sample();
      const StepInfo info{i, steps, t, [&] { return nhwc_to_nchw(models.context->download(sample)); }};
      if (!a.callback_on_step_end(info))
        fail(ErrorKind::cancelled, "stopped by the callback after {} of {} steps", i + 1, steps);
    }
  }
  const bool take_x0 = traits_.one_step_gives_x0 && steps == 1 && runner.pred_original_sample();
  const BufferPtr latents = take_x0 ? runner.pred_original_sample() : runner.sample();
  log.nhwc("latents_final", latents);
  return latents;
}

Tensor PixArtPipeline::decode(const Plan& plan, const BufferPtr& latents, const Models& models,
                              RunLog& log) const {
  const BufferPtr unscaled =
      models.programs->combine({1.0 / models.vae->config().scaling_factor}, {latents}, models.dtype);
  const auto options = log.options_for("vae");
  const auto outputs = models.vae->decode(unscaled, options);
  log.taps("vae", options, outputs);
  const Tensor decoded = models.context->download(outputs.at("sample"));
  if (!all_finite(decoded)) {
    const bool before = !all_finite(models.context->download(latents));
    fail(ErrorKind::model, "the {} gave NaN or infinite values with {} arithmetic; {}",
         before ? "transformer" : "vae", to_string(models.dtype),
         models.dtype == DType::f32
             ? "the weights, the embeddings or the settings (guidance_scale, sigmas) are out of range"
             : "try dtype f32");
  }
  Tensor nchw = nhwc_to_nchw(decoded);
  if (plan.binned && plan.drawn != plan.wanted)
    nchw = resize_and_crop(nchw, plan.wanted.height, plan.wanted.width);
  return denormalize_to_nhwc(nchw);
}

PipelineOutput PixArtPipeline::run(const CallArguments& a) {
  const auto held = std::static_pointer_cast<Models>(loaded());
  const Models& models = *held;
  RunLog log(a, *models.context);
  Plan plan = resolve(a, models);
  const bool release = too_large_to_keep(models.models);
  const auto leave = [&](const Model& model) {
    if (release)
      model.component().release();
    else
      model.component().release_workspaces();
  };
  log.stage("text_encoder");
  const Text text =
      a.prompt_embeds.numel() > 0 ? given_embeddings(a, plan, models) : encode_prompt(a, plan, models, log);
  text.dump(log, models, plan);
  leave(*models.text_encoder);

  if (log.wants_tensors()) {
    const auto& timesteps = plan.scheduler->timesteps();
    const Tensor values = Tensor::from({static_cast<std::int64_t>(timesteps.size())}, timesteps);
    log.tensor("timesteps", values.to(plan.scheduler->integer_timesteps() ? DType::i64 : DType::f32));
    const auto& sigmas = plan.scheduler->sigmas();
    if (!sigmas.empty())
      log.tensor("sigmas", Tensor::from({static_cast<std::int64_t>(sigmas.size())}, sigmas));
  }
  log.stage("denoise");
  const BufferPtr latents = denoise(a, plan, text, models, log);
  leave(*models.transformer);

  log.stage("vae");
  PipelineOutput output;
  output.image_tensor = decode(plan, latents, models, log);
  log.tensor("image", output.image_tensor);
  leave(*models.vae);

  output.images = to_images(output.image_tensor);
  output.settings = settings(a, plan, models);
  log.finish(output);
  return output;
}

std::vector<graph::Graph> PixArtPipeline::graphs(const CallArguments& a) {
  const auto held = std::static_pointer_cast<Models>(loaded());
  CallArguments arguments = a;
  if (arguments.prompt.empty() && arguments.prompt_embeds.numel() == 0) arguments.prompt = std::string();
  const Plan plan = resolve(arguments, *held);
  const std::int64_t copies = plan.guided && plan.batched ? 2 : 1;
  std::vector<graph::Graph> result;
  result.push_back(held->text_encoder->graph(plan.prompts * copies, plan.text_length));
  result.push_back(held->transformer->graph(
      {plan.images * copies, plan.latent_height, plan.latent_width, plan.text_length}));
  result.push_back(held->vae->decoder_graph(plan.images, plan.latent_height, plan.latent_width));
  return result;
}

Json PixArtPipeline::settings(const CallArguments& a, const Plan& plan, const Models& models) const {
  Json json;
  json["pipeline"] = traits_.class_name;
  if (!a.prompt.empty()) {
    json["prompt"] = a.prompt.is_list() ? Json(a.prompt.values()) : Json(a.prompt.values()[0]);
    if (plan.guided)
      json["negative_prompt"] =
          a.negative_prompt && a.negative_prompt->is_list() ? Json(plan.negative) : Json(plan.negative[0]);
  } else {
    json["prompt_embeds"] = to_string(a.prompt_embeds.shape());
  }
  if (!a.prompt.empty()) json["clean_caption"] = a.clean_caption.value_or(true);
  json["height"] = plan.wanted.height;
  json["width"] = plan.wanted.width;
  json["use_resolution_binning"] = a.use_resolution_binning;
  if (plan.binned) json["drawn_size"] = {plan.drawn.height, plan.drawn.width};
  if (!a.timesteps.empty())
    json["timesteps"] = a.timesteps;
  else if (!a.sigmas.empty())
    json["sigmas"] = a.sigmas;
  else
    json["num_inference_steps"] = a.num_inference_steps.value_or(20);
  json["guidance_scale"] = plan.guidance_scale;
  json["cfg"] = !plan.guided ? "off" : plan.batched ? "batched" : "sequential";
  json["num_images_per_prompt"] = a.num_images_per_prompt;
  json["max_sequence_length"] = plan.text_length;
  json["seed"] = a.seed.is_list() ? Json(plan.seeds) : Json(plan.seeds[0]);
  json["latents"] = a.latents.numel() > 0 ? "given" : "drawn";
  json["scheduler"] = plan.scheduler->config();
  json["dtype"] = to_string(models.dtype);
  json["device"] = to_string(models.context->device());
  return json;
}

}  // namespace perfuse
