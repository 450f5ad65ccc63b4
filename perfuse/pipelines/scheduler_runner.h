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
  // `scheduler` has its timesteps set. `sample` is the initial latents, NHWC on the device.
  SchedulerRunner(const Scheduler& scheduler, LatentPrograms& programs, runtime::DeviceContext& context,
                  runtime::BufferPtr sample);

  // The sample as the model wants it before call `index`.
  [[nodiscard]] runtime::BufferPtr model_input(int index, int copies);
  // scheduler.step with the model's output; noise is drawn NCHW, as diffusers does.
  void step(int index, runtime::BufferPtr model_output, std::span<Generator> generators);

  [[nodiscard]] const runtime::BufferPtr& sample() const { return sample_; }
  // x0 as the last step saw it, or null where the scheduler does not keep it.
  [[nodiscard]] const runtime::BufferPtr& pred_original_sample() const { return pred_original_; }
  // Steps whose non-linear part ran on the host.
  [[nodiscard]] int host_actions() const { return host_actions_; }

 private:
  runtime::BufferPtr& slot(Slot slot);

  const Scheduler& scheduler_;
  LatentPrograms& programs_;
  runtime::DeviceContext& context_;
  runtime::BufferPtr sample_, model_output_, pred_original_;
  std::vector<runtime::BufferPtr> noise_, history_;
  int host_actions_ = 0;
};

}  // namespace perfuse
