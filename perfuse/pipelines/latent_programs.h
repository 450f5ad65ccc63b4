// The small programs between the models: scaling and doubling latents, guidance, a scheduler's sums. They run on
// the denoiser's device, so that latents stay there, and read their numbers from buffers, so that another step,
// scheduler, number of steps or guidance scale compiles nothing.
#pragma once

#include <memory>
#include <vector>

#include "perfuse/runtime/component.h"

namespace perfuse {

class LatentPrograms {
 public:
  LatentPrograms(std::shared_ptr<runtime::DeviceContext> context, DType dtype);

  struct StepInputs {
    runtime::BufferPtr sample;    // [copies · N, h, w, C]: scaled, one copy after the other
    runtime::BufferPtr timestep;  // f32[copies · N]
  };
  // From the step's values (step_values.h, uploaded) and its sample [N, h, w, C].
  [[nodiscard]] StepInputs step_inputs(const runtime::BufferPtr& values, const runtime::BufferPtr& sample,
                                       int copies);
  // Guidance by the step's values over the first `channels` channels: [N, h, w, channels]. With one buffer,
  // [2 · N, h, w, …] holds the negative predictions and then the positive ones.
  [[nodiscard]] runtime::BufferPtr guide(const runtime::BufferPtr& values,
                                         const std::vector<runtime::BufferPtr>& predictions,
                                         std::int64_t channels);

  // A sum by one row of the step's values.
  struct Sum {
    runtime::BufferPtr values, row;         // row: i32[1]
    std::vector<runtime::BufferPtr> terms;  // kStepTerms of them, of the arithmetic's type
    runtime::BufferPtr noise;               // f32
    bool first_is_done = false;             // nobody uses terms[0] again: the sum may take its memory
  };
  [[nodiscard]] runtime::BufferPtr sum(const Sum& sum);

  // x[…, C], the first `channels` channels.
  [[nodiscard]] runtime::BufferPtr first_channels(const runtime::BufferPtr& x, std::int64_t channels);
  // x · factor, a constant of the model.
  [[nodiscard]] runtime::BufferPtr scale(const runtime::BufferPtr& x, double factor);
  // x[N, …] → [N · times, …]: each batch entry `times` times in a row.
  [[nodiscard]] runtime::BufferPtr repeat_interleave(const runtime::BufferPtr& x, std::int64_t times);

 private:
  DType dtype_;
  runtime::Component component_;
};

}  // namespace perfuse
