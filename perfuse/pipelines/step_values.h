// Every number that the programs of one denoising step read, as the one small upload that a step makes: f32
// [kStepRows, kStepTerms + 1].
//
// Row 0: timestep, scale of the model's input, then guidance: coefficients of the negative prediction and of
// (positive − negative). Row 1 + i: the step's i-th Combination: its terms' coefficients in order, 0 where it has
// fewer; last that of its noise.
#pragma once

#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {

inline constexpr int kStepRows = 8;
inline constexpr int kStepTerms = 7;  // of a Combination, noise apart

struct StepColumns {
  static constexpr int timestep = 0, input_scale = 1, guidance = 2;
};

// `guidance_scale` as in diffusers: negative + scale · (positive − negative).
[[nodiscard]] Tensor step_values(const Scheduler& scheduler, int index, const Step& step,
                                 double guidance_scale);

}  // namespace perfuse
