// The implementation behind PixArtAlphaPipeline and PixArtSigmaPipeline, which differ in a few numbers.
#pragma once

#include "perfuse/models/autoencoder_kl.h"
#include "perfuse/models/pixart_transformer_2d.h"
#include "perfuse/models/t5_encoder.h"
#include "perfuse/pipelines/denoising_loop.h"
#include "perfuse/pipelines/model_scheduler.h"
#include "perfuse/pipelines/pipeline_implementation.h"
#include "perfuse/pipelines/resolution_binning.h"
#include "perfuse/tokenizers/t5.h"

namespace perfuse {

struct PixArtTraits {
  std::string_view class_name;
  int max_sequence_length;
  bool micro_conditions;   // resolution and aspect ratio, where the transformer's sample_size is 128
  bool one_step_gives_x0;  // a single step returns the scheduler's x0 (distilled models), where it has one
};

class PixArtPipeline : public PipelineImplementation {
 public:
  PixArtPipeline(ModelIndex index, const LoadOptions& options, const PixArtTraits& traits);

  [[nodiscard]] PipelineOutput run(const CallArguments& arguments) override;
  [[nodiscard]] std::vector<graph::Graph> graphs(const CallArguments& arguments) override;

 private:
  struct Models;
  struct Plan;  // arguments, resolved
  struct Text;  // encoder states and masks
  [[nodiscard]] std::shared_ptr<LoadedModels> load(std::shared_ptr<runtime::DeviceContext> context,
                                                   const LoadOptions& options) override;

  void check(const Models& models) const;
  // All but the scheduler, which inspecting a model does without.
  [[nodiscard]] Plan resolve(const CallArguments& arguments, const Models& models) const;
  void check_encoders(const CallArguments& arguments, const Plan& plan, const Models& models) const;
  void schedule(const CallArguments& arguments, Plan& plan) const;
  // Of the models that a run with these arguments runs, in order.
  [[nodiscard]] std::vector<graph::Graph> graphs(const CallArguments& arguments, const Plan& plan,
                                                 const Models& models) const;
  [[nodiscard]] Text encode_prompt(const CallArguments& arguments, const Plan& plan, const Models& models,
                                   RunLog& log) const;
  [[nodiscard]] Text given_embeddings(const CallArguments& arguments, const Plan& plan, const Models& models,
                                      RunLog& log) const;
  [[nodiscard]] Tensor initial_latents(const CallArguments& arguments, Plan& plan,
                                       const Models& models) const;
  // The transformer's conditions, for each of its runs in a step.
  [[nodiscard]] std::vector<runtime::NamedBuffers> prepare(const Plan& plan, const Text& text,
                                                           const Models& models) const;
  [[nodiscard]] DenoisingResult denoise(const CallArguments& arguments, Plan& plan, const Text& text,
                                        const Models& models, RunLog& log) const;
  [[nodiscard]] Tensor decode(const Plan& plan, const runtime::BufferPtr& latents, const Models& models,
                              RunLog& log) const;
  [[nodiscard]] Json settings(const CallArguments& arguments, const Plan& plan, const Models& models) const;

  PixArtTraits traits_;
  std::optional<T5Tokenizer> tokenizer_;  // a folder without one takes embeddings
  ModelScheduler scheduler_;
};

}  // namespace perfuse
