#include "perfuse/pipelines/denoising_loop.h"

#include "perfuse/core/error.h"
#include "perfuse/pipelines/scheduler_runner.h"

namespace perfuse {

using runtime::BufferPtr;

DenoisingResult denoise(const CallArguments& a, const Scheduler& scheduler, const Denoiser& denoiser,
                        double guidance_scale, const Tensor& latents, std::span<Generator> generators,
                        LatentPrograms& programs, runtime::DeviceContext& context, RunLog& log) {
  const auto& timesteps = scheduler.timesteps();
  const int steps = static_cast<int>(timesteps.size());
  SchedulerRunner runner(scheduler, programs, context, latents, guidance_scale);
  log.nhwc("latents_initial", runner.sample());
  for (int i = 0; i < steps; ++i) {
    if (a.stop.stop_requested()) fail(ErrorKind::cancelled, "stopped after {} of {} steps", i, steps);
    const auto inputs = runner.begin(i, denoiser.copies);
    std::vector<BufferPtr> predictions;
    for (int pass = 0; pass < denoiser.passes; ++pass) predictions.push_back(denoiser.predict(pass, inputs));
    const bool guided = denoiser.copies * denoiser.passes == 2;
    const BufferPtr model_output = guided ? runner.guide(predictions, denoiser.channels)
                                          : programs.first_channels(predictions[0], denoiser.channels);
    if (i == 0) log.nhwc("model_output.step0", model_output);
    runner.step(model_output, generators);
    log.nhwc(fmt::format("latents.step{}", i), runner.sample());
    log.progress(i + 1, steps);
    if (!a.callback_on_step_end) continue;
    const StepInfo info{i, steps, timesteps[static_cast<std::size_t>(i)],
                        [&] { return nhwc_to_nchw(context.download(runner.sample())); }};
    if (!a.callback_on_step_end(info))
      fail(ErrorKind::cancelled, "stopped by the callback after {} of {} steps", i + 1, steps);
  }
  return {runner.sample(), runner.pred_original_sample(), runner.host_actions()};
}

}  // namespace perfuse
