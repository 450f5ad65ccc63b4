#include "perfuse/pipelines/scheduler_runner.h"

#include <algorithm>

#include "perfuse/pipelines/step_values.h"

namespace perfuse {

using runtime::BufferPtr;

namespace {

// x · factor in f32, of x's type.
Tensor scaled(const Tensor& x, double factor) {
  if (factor == 1.0) return x;
  const Tensor from = x.to(DType::f32);
  Tensor result = Tensor::empty(DType::f32, x.shape());
  const auto values = from.data<float>();
  std::transform(values.begin(), values.end(), result.mutable_data<float>().begin(),
                 [f = static_cast<float>(factor)](float v) { return v * f; });
  return result.to(x.dtype());
}

}  // namespace

SchedulerRunner::SchedulerRunner(const Scheduler& scheduler, LatentPrograms& programs,
                                 runtime::DeviceContext& context, const Tensor& latents,
                                 double guidance_scale)
    : scheduler_(scheduler),
      programs_(programs),
      context_(context),
      guidance_scale_(guidance_scale),
      history_(static_cast<std::size_t>(scheduler.history_slots())) {
  sample_ = context_.upload(nchw_to_nhwc(scaled(latents, scheduler.init_noise_sigma())));
}

BufferPtr& SchedulerRunner::slot(Slot slot) {
  switch (slot.kind) {
    case Slot::Kind::sample: return sample_;
    case Slot::Kind::model_output: return model_output_;
    case Slot::Kind::noise: return noise_.at(static_cast<std::size_t>(slot.index));
    case Slot::Kind::history: break;
  }
  return history_.at(static_cast<std::size_t>(slot.index));
}

LatentPrograms::StepInputs SchedulerRunner::begin(int index, int copies) {
  step_ = scheduler_.step(index);
  values_ = context_.upload(step_values(scheduler_, index, step_, guidance_scale_));
  return programs_.step_inputs(values_, sample_, copies);
}

BufferPtr SchedulerRunner::guide(const std::vector<BufferPtr>& predictions, std::int64_t channels) {
  return programs_.guide(values_, predictions, channels);
}

BufferPtr SchedulerRunner::zeros(DType dtype) {
  const bool own = dtype == sample_->type().dtype;
  BufferPtr& kept = own ? zeros_ : zeros_f32_;
  if (!kept) kept = context_.upload(Tensor::zeros(dtype, sample_->type().shape));
  return kept;
}

void SchedulerRunner::draw_noise(std::span<Generator> generators) {
  const auto& nhwc = sample_->type().shape;
  const DType dtype = step_.noise_f32 ? DType::f32 : sample_->type().dtype;
  noise_.clear();
  for (int i = 0; i < step_.noise_draws; ++i) {
    const Tensor drawn = randn_tensor({nhwc[0], nhwc[3], nhwc[1], nhwc[2]}, generators, dtype);
    noise_.push_back(context_.upload(nchw_to_nhwc(drawn).to(DType::f32)));
  }
}

void SchedulerRunner::run(const Combination& combination, std::size_t row) {
  while (rows_.size() <= row)
    rows_.push_back(
        context_.upload(Tensor::from<std::int32_t>({1}, {static_cast<std::int32_t>(rows_.size()) + 1})));
  LatentPrograms::Sum sum{values_, rows_[row], {}, nullptr, false};
  int samples = 0;
  for (const auto& term : combination.terms) {
    if (term.slot.kind == Slot::Kind::noise && !sum.noise) {
      sum.noise = slot(term.slot);
      continue;
    }
    if (term.slot.kind == Slot::Kind::sample) ++samples;
    sum.terms.push_back(slot(term.slot));
  }
  sum.first_is_done = combination.destination.kind == Slot::Kind::sample && samples == 1 &&
                      combination.terms[0].slot.kind == Slot::Kind::sample;
  sum.terms.resize(kStepTerms, zeros(sample_->type().dtype));
  if (!sum.noise) sum.noise = zeros(DType::f32);
  slot(combination.destination) = programs_.sum(sum);
}

void SchedulerRunner::run_on_host(const Action& action, Slot target) {
  const DType dtype = sample_->type().dtype;
  Tensor values = context_.download(slot(target)).to(DType::f32);
  apply_on_host({{action}, 0, false, {}}, [&](Slot) -> Tensor& { return values; });
  slot(target) = context_.upload(values.to(dtype));
  ++host_actions_;
}

void SchedulerRunner::step(BufferPtr model_output, std::span<Generator> generators) {
  model_output_ = std::move(model_output);
  pred_original_ = nullptr;
  draw_noise(generators);
  std::size_t row = 0;
  for (const auto& action : step_.actions) {
    if (const auto* combination = std::get_if<Combination>(&action))
      run(*combination, row++);
    else if (const auto* clip = std::get_if<Clip>(&action))
      run_on_host(action, clip->slot);
    else
      run_on_host(action, std::get<DynamicThreshold>(action).slot);
  }
  pred_original_ = step_.pred_original_sample ? slot(*step_.pred_original_sample) : nullptr;
}

}  // namespace perfuse
