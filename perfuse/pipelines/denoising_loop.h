// From noise to latents: the loop that every latent diffusion pipeline runs, whatever its denoiser.
#pragma once

#include <functional>
#include <span>

#include "perfuse/pipelines/arguments.h"
#include "perfuse/pipelines/latent_programs.h"
#include "perfuse/pipelines/run_log.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/random.h"

namespace perfuse {

// The model as the loop sees it.
struct Denoiser {
  // One prediction for `inputs` ([copies · N, …]), at least `channels` wide. `pass`: 0 … passes − 1.
  std::function<runtime::BufferPtr(int pass, const LatentPrograms::StepInputs& inputs)> predict;
  std::int64_t channels = 4;  // of the latents; a prediction may hold more (a variance), which are left
  int copies = 1;             // of the sample in one batch: 2 for guidance in one batch, negative first
  int passes = 1;             // predictions in a step: 2 for guidance in two runs, negative first
};

struct DenoisingResult {
  runtime::BufferPtr latents;               // NHWC, after the last step
  runtime::BufferPtr pred_original_sample;  // x0 as the last step saw it; null where the scheduler has none
  int host_actions = 0;                     // parts of steps that ran on the host
};

// `latents`: NCHW noise of the arithmetic's type, before the scheduler's init_noise_sigma. `scheduler` has its timesteps
// set. Error(cancelled) where the call's stop token or callback asks for it.
[[nodiscard]] DenoisingResult denoise(const CallArguments& arguments, const Scheduler& scheduler,
                                      const Denoiser& denoiser, double guidance_scale, const Tensor& latents,
                                      std::span<Generator> generators, LatentPrograms& programs,
                                      runtime::DeviceContext& context, RunLog& log);

}  // namespace perfuse
