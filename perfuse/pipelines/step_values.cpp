#include "perfuse/pipelines/step_values.h"

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

void fill_row(const Combination& combination, std::span<float> row) {
  std::size_t next = 0;
  bool noise = false;
  for (const auto& term : combination.terms) {
    const auto coefficient = static_cast<float>(term.coefficient);
    if (term.slot.kind == Slot::Kind::noise && !std::exchange(noise, true))
      row[kStepTerms] = coefficient;
    else if (next < kStepTerms)
      row[next++] = coefficient;
    else
      fail(ErrorKind::unsupported, "scheduler: a step adds up more than {} tensors", kStepTerms);
  }
}

}  // namespace

Tensor step_values(const Scheduler& scheduler, int index, const Step& step, double guidance_scale) {
  constexpr std::size_t kColumns = kStepTerms + 1;
  Tensor table = Tensor::zeros(DType::f32, {kStepRows, kColumns});
  const auto values = table.mutable_data<float>();
  values[StepColumns::timestep] = static_cast<float>(scheduler.timesteps()[static_cast<std::size_t>(index)]);
  values[StepColumns::input_scale] = static_cast<float>(scheduler.model_input_scale(index));
  values[StepColumns::guidance] = 1.0F;
  values[StepColumns::guidance + 1] = static_cast<float>(guidance_scale);
  std::size_t row = 1;
  for (const auto& action : step.actions) {
    const auto* combination = std::get_if<Combination>(&action);
    if (!combination) continue;
    if (row == kStepRows)
      fail(ErrorKind::unsupported, "{}: a step makes more than {} sums", scheduler.class_name(),
           kStepRows - 1);
    fill_row(*combination, values.subspan(row++ * kColumns, kColumns));
  }
  return table;
}

}  // namespace perfuse
