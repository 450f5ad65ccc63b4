#include "perfuse/pipelines/pixart_pipeline.h"

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/image/postprocess.h"
#include "perfuse/pipelines/check_inputs.h"
#include "perfuse/pipelines/pixart_plan.h"

namespace perfuse {

using runtime::BufferPtr;

PixArtPipeline::PixArtPipeline(ModelIndex index, const LoadOptions& options, const PixArtTraits& traits)
    : PipelineImplementation(std::move(index), options), traits_(traits), scheduler_(this->index()) {
  this->index().report_unused({"scheduler", "text_encoder", "tokenizer", "transformer", "vae"});
  if (this->index().has("tokenizer"))
    tokenizer_ = T5Tokenizer::from_pretrained(
        this->index().component("tokenizer", {"T5Tokenizer", "T5TokenizerFast"}));
  static_cast<void>(loaded());
}

std::shared_ptr<LoadedModels> PixArtPipeline::load(std::shared_ptr<runtime::DeviceContext> context,
                                                   const LoadOptions& options) {
  auto result = std::make_shared<Models>();
  const ModelOptions model_options{
      context, *options.dtype, {options.granularity, false, nullptr}, options.variant};
  result->context = context;
  result->dtype = *options.dtype;
  result->programs = std::make_unique<LatentPrograms>(context, *options.dtype);
  if (index().has("text_encoder"))
    result->text_encoder = std::make_unique<T5EncoderModel>(
        index().component("text_encoder", {"T5EncoderModel"}), model_options);
  result->transformer = std::make_unique<PixArtTransformer2DModel>(
      index().component("transformer", {"PixArtTransformer2DModel", "Transformer2DModel"}), model_options);
  result->vae = std::make_unique<AutoencoderKL>(index().component("vae", {"AutoencoderKL"}), model_options);
  if (result->text_encoder) result->models.push_back(result->text_encoder.get());
  result->models.insert(result->models.end(), {result->transformer.get(), result->vae.get()});
  check(*result);
  return result;
}

// That the components belong together, and each weight, by building each graph once: before anything is read or run.
void PixArtPipeline::check(const Models& models) const {
  const auto folder = index().folder.string();

  const auto& t = models.transformer->config();
  const auto& vae = models.vae->config();
  if (t.in_channels != vae.latent_channels)
    fail(ErrorKind::model, "{}: the transformer's in_channels is {}, the autoencoder's latent_channels {}",
         folder, t.in_channels, vae.latent_channels);
  if (t.out_channels != t.in_channels && t.out_channels / 2 != t.in_channels)
    fail(ErrorKind::model,
         "{}: the transformer's out_channels is {}, expected in_channels, {}, or twice as many", folder,
         t.out_channels, t.in_channels);
  if (vae.out_channels != 3)
    fail(ErrorKind::model, "{}: the autoencoder's out_channels is {}, expected 3", folder, vae.out_channels);
  if (models.text_encoder) {
    const auto& text = models.text_encoder->config();
    if (t.caption_channels != text.d_model)
      fail(ErrorKind::model,
           "{}: the transformer takes caption_channels {}, the text encoder gives d_model {}", folder,
           t.caption_channels, text.d_model);
    if (tokenizer_ && tokenizer_->vocabulary_size() > text.vocab_size)
      fail(ErrorKind::model, "{}: the tokenizer has {} tokens, the text encoder vocab_size {}", folder,
           tokenizer_->vocabulary_size(), text.vocab_size);
    warn_unused_weights(*models.text_encoder, {models.text_encoder->graph(1, 2)});
  }
  warn_unused_weights(*models.transformer, {models.transformer->graph({1, t.patch_size, t.patch_size, 2})});
  const auto side = vae.scale();
  warn_unused_weights(*models.vae,
                      {models.vae->decoder_graph(1, 8, 8), models.vae->encoder_graph(1, side, side)});
}

PixArtPipeline::Plan PixArtPipeline::resolve(const CallArguments& a, const Models& models) const {
  Plan plan;
  check_common(a);
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

  plan.generators = make_generators(a, plan.images, plan.seeds);
  return plan;
}

void PixArtPipeline::Plan::tell_binning() const {
  if (!binned || drawn == wanted) return;
  const auto pixels = [](const PixelSize& size) { return static_cast<double>(size.height * size.width); };
  log::info(
      "{}×{} is drawn at {}×{}, the nearest training size, and resized, as in diffusers ({:.2g} times the "
      "pixels); --no-resolution-binning (use_resolution_binning = false) draws {}×{} itself",
      wanted.width, wanted.height, drawn.width, drawn.height, pixels(drawn) / pixels(wanted), wanted.width,
      wanted.height);
}

// A folder may lack tokenizer and text encoder: then the embeddings of both prompts must be given.
void PixArtPipeline::check_encoders(const CallArguments& a, const Plan& plan, const Models& models) const {
  const bool given = a.prompt_embeds.numel() > 0 && (!plan.guided || a.negative_prompt_embeds.numel() > 0);
  if (given || (tokenizer_ && models.text_encoder)) return;
  const auto* const lacking = tokenizer_            ? "no text_encoder"
                              : models.text_encoder ? "no tokenizer"
                                                    : "no tokenizer and no text_encoder";
  fail(ErrorKind::usage, "{}: {}: the model has {} ({}); give {}",
       a.prompt_embeds.numel() > 0 ? "negative_prompt" : "prompt", index().folder.string(), lacking,
       index().file(),
       a.prompt_embeds.numel() > 0 ? "negative_prompt_embeds, or guidance_scale 1"
                                   : "prompt_embeds, and negative_prompt_embeds for guidance");
}

void PixArtPipeline::schedule(const CallArguments& a, Plan& plan) const {
  plan.scheduler = scheduler_.make(a.scheduler);
  TimestepRequest request{std::nullopt, a.timesteps, a.sigmas, std::nullopt};
  if (a.timesteps.empty() && a.sigmas.empty())
    request.num_inference_steps = a.num_inference_steps.value_or(20);
  plan.scheduler->set_timesteps(request);
}

Tensor PixArtPipeline::initial_latents(const CallArguments& a, Plan& plan, const Models& models) const {
  const Shape shape{plan.images, models.transformer->config().in_channels, plan.latent_height,
                    plan.latent_width};
  if (a.latents.numel() == 0) return randn_tensor(shape, plan.generators, models.dtype);
  if (a.latents.shape() != shape)
    fail(ErrorKind::usage, "latents: shape {}, expected {}", to_string(a.latents.shape()), to_string(shape));
  if (!all_finite(a.latents)) fail(ErrorKind::usage, "latents: hold NaN or infinite values");
  return a.latents.to(models.dtype);
}

std::vector<runtime::NamedBuffers> PixArtPipeline::prepare(const Plan& plan, const Text& text,
                                                           const Models& models) const {
  const auto& transformer = *models.transformer;
  const auto prepare = [&](const BufferPtr& states, const Tensor& mask) {
    PixArtTransformer2DModel::Conditions conditions{states, mask, {}, {}};
    const auto sizes = plan.transformer_sizes();
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
      const auto for_batch = [&](const Tensor& value) {
        return value.to(models.dtype).to(DType::f32).repeat_interleave(sizes.batch);
      };
      conditions.resolution = for_batch(Tensor::from<float>({1, 2}, {height, width}));
      conditions.aspect_ratio = for_batch(Tensor::from<float>({1, 1}, {ratio}));
    }
    return transformer.prepare(sizes, conditions);
  };
  if (text.both) {
    const std::array masks{text.negative_mask, text.positive_mask};
    return {prepare(text.both, concat(masks, 0))};
  }
  if (!plan.guided) return {prepare(text.positive, text.positive_mask)};
  return {prepare(text.negative, text.negative_mask), prepare(text.positive, text.positive_mask)};
}

DenoisingResult PixArtPipeline::denoise(const CallArguments& a, Plan& plan, const Text& text,
                                        const Models& models, RunLog& log) const {
  const auto prepared = prepare(plan, text, models);
  Denoiser denoiser;
  denoiser.channels = models.transformer->config().in_channels;
  denoiser.copies = plan.copies();
  denoiser.passes = static_cast<int>(prepared.size());
  denoiser.predict = [&](int pass, const LatentPrograms::StepInputs& inputs) {
    const auto options = log.options_for("transformer", denoiser.passes);
    const auto outputs =
        models.transformer->run(plan.transformer_sizes(), prepared[static_cast<std::size_t>(pass)],
                                inputs.sample, inputs.timestep, options);
    log.taps("transformer", options, outputs);
    return outputs.at("sample");
  };
  auto result =
      perfuse::denoise(a, *plan.scheduler, denoiser, plan.guidance_scale, initial_latents(a, plan, models),
                       plan.generators, *models.programs, *models.context, log);
  if (traits_.one_step_gives_x0 && plan.scheduler->timesteps().size() == 1 && result.pred_original_sample)
    result.latents = result.pred_original_sample;
  log.nhwc("latents_final", result.latents);
  return result;
}

Tensor PixArtPipeline::decode(const Plan& plan, const BufferPtr& latents, const Models& models,
                              RunLog& log) const {
  const BufferPtr unscaled = models.programs->scale(latents, 1.0 / models.vae->config().scaling_factor);
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
  check_encoders(a, plan, models);
  schedule(a, plan);
  if (!a.taps.empty()) check_taps(a, graphs(a, plan, models));
  for (const auto& line : arguments_without_effect(a, plan.guided)) log.warn(line);
  plan.tell_binning();

  log.stage("text_encoder");
  const Text text = a.prompt_embeds.numel() > 0 ? given_embeddings(a, plan, models, log)
                                                : encode_prompt(a, plan, models, log);
  text.dump(log, models, plan);
  if (models.text_encoder) models.leave(*models.text_encoder);

  if (log.wants_tensors()) {
    const auto& timesteps = plan.scheduler->timesteps();
    const Tensor values = Tensor::from({static_cast<std::int64_t>(timesteps.size())}, timesteps);
    log.tensor("timesteps", values.to(plan.scheduler->integer_timesteps() ? DType::i64 : DType::f32));
    const auto& sigmas = plan.scheduler->sigmas();
    if (!sigmas.empty())
      log.tensor("sigmas", Tensor::from({static_cast<std::int64_t>(sigmas.size())}, sigmas));
  }
  log.stage("denoise");
  const DenoisingResult denoised = denoise(a, plan, text, models, log);
  models.leave(*models.transformer);

  log.stage("vae");
  PipelineOutput output;
  output.image_tensor = decode(plan, denoised.latents, models, log);
  output.host_actions = denoised.host_actions;
  log.tensor("image", output.image_tensor);
  models.leave(*models.vae);

  output.images = to_images(output.image_tensor);
  output.settings = settings(a, plan, models);
  log.finish(output);
  return output;
}

std::vector<graph::Graph> PixArtPipeline::graphs(const CallArguments& a, const Plan& plan,
                                                 const Models& models) const {
  std::vector<graph::Graph> result;
  const bool encodes_positive = a.prompt_embeds.numel() == 0;
  const bool encodes_negative = plan.guided && a.negative_prompt_embeds.numel() == 0;
  if (models.text_encoder && (encodes_positive || encodes_negative))
    result.push_back(
        models.text_encoder->graph(plan.prompts * (encodes_positive ? plan.copies() : 1), plan.text_length));
  result.push_back(models.transformer->graph(plan.transformer_sizes()));
  result.push_back(models.vae->decoder_graph(plan.images, plan.latent_height, plan.latent_width));
  return result;
}

std::vector<graph::Graph> PixArtPipeline::graphs(const CallArguments& a) {
  const auto held = std::static_pointer_cast<Models>(loaded());
  CallArguments arguments = a;
  if (arguments.prompt.empty() && arguments.prompt_embeds.numel() == 0) arguments.prompt = std::string();
  return graphs(arguments, resolve(arguments, *held), *held);
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
