// Carries a scheduler's steps out on a device: owns the buffers behind its slots, for one call.
#pragma once

#include <span>
#include <vector>

#include "perfuse/pipelines/latent_programs.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/random.h"

namespace perfuse {

class SchedulerRunner {
 public:
  // `scheduler` has its timesteps set. `latents` are the initial ones, NCHW, of the arithmetic's type.
  SchedulerRunner(const Scheduler& scheduler, LatentPrograms& programs, runtime::DeviceContext& context,
                  const Tensor& latents, double guidance_scale);

  // Begins call `index`: uploads its numbers, and gives what the model takes.
  [[nodiscard]] LatentPrograms::StepInputs begin(int index, int copies);
  // After begin(): the predictions under guidance (latent_programs.h).
  [[nodiscard]] runtime::BufferPtr guide(const std::vector<runtime::BufferPtr>& predictions,
                                         std::int64_t channels);
  // After begin(): scheduler.step with the model's output. Noise is drawn NCHW, as diffusers does.
  void step(runtime::BufferPtr model_output, std::span<Generator> generators);

  // Until the next step(), which may take its memory.
  [[nodiscard]] const runtime::BufferPtr& sample() const { return sample_; }
  // x0 as the last step saw it, or null where the scheduler does not keep it.
  [[nodiscard]] const runtime::BufferPtr& pred_original_sample() const { return pred_original_; }
  // Parts of steps that are not linear and ran on the host.
  [[nodiscard]] int host_actions() const { return host_actions_; }

 private:
  [[nodiscard]] runtime::BufferPtr& slot(Slot slot);
  void draw_noise(std::span<Generator> generators);
  void run(const Combination& combination, std::size_t row);
  void run_on_host(const Action& action, Slot target);
  [[nodiscard]] runtime::BufferPtr zeros(DType dtype);

  const Scheduler& scheduler_;
  LatentPrograms& programs_;
  runtime::DeviceContext& context_;
  const double guidance_scale_;
  Step step_;
  runtime::BufferPtr values_;  // of the step under way
  runtime::BufferPtr sample_, model_output_, pred_original_;
  std::vector<runtime::BufferPtr> noise_, history_;
  std::vector<runtime::BufferPtr> rows_;  // [i]: the number 1 + i, uploaded once
  runtime::BufferPtr zeros_, zeros_f32_;  // in the place of terms that a sum lacks
  int host_actions_ = 0;
};

}  // namespace perfuse
