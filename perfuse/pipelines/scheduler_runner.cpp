#include "perfuse/pipelines/scheduler_runner.h"

#include "perfuse/core/error.h"

namespace perfuse {

using runtime::BufferPtr;

SchedulerRunner::SchedulerRunner(const Scheduler& scheduler, LatentPrograms& programs,
                                 runtime::DeviceContext& context, BufferPtr sample)
    : scheduler_(scheduler),
      programs_(programs),
      context_(context),
      sample_(std::move(sample)),
      history_(static_cast<std::size_t>(scheduler.history_slots())) {}

BufferPtr& SchedulerRunner::slot(Slot slot) {
  switch (slot.kind) {
    case Slot::Kind::sample: return sample_;
    case Slot::Kind::model_output: return model_output_;
    case Slot::Kind::noise: return noise_.at(static_cast<std::size_t>(slot.index));
    case Slot::Kind::history: break;
  }
  return history_.at(static_cast<std::size_t>(slot.index));
}

BufferPtr SchedulerRunner::model_input(int index, int copies) {
  const double scale = scheduler_.model_input_scale(index);
  return scale == 1.0 && copies == 1 ? sample_ : programs_.model_input(sample_, scale, copies);
}

void SchedulerRunner::step(int index, BufferPtr model_output, std::span<Generator> generators) {
  model_output_ = std::move(model_output);
  const Step step = scheduler_.step(index);
  const DType dtype = sample_->type().dtype;
  const auto& nhwc = sample_->type().shape;
  noise_.clear();
  for (int i = 0; i < step.noise_draws; ++i) {
    const Tensor drawn =
        randn_tensor({nhwc[0], nhwc[3], nhwc[1], nhwc[2]}, generators, step.noise_f32 ? DType::f32 : dtype);
    noise_.push_back(context_.upload(nchw_to_nhwc(drawn)));
  }
  for (const auto& action : step.actions) {
    if (const auto* combination = std::get_if<Combination>(&action)) {
      std::vector<double> coefficients;
      std::vector<BufferPtr> terms;
      for (const auto& term : combination->terms) {
        coefficients.push_back(term.coefficient);
        terms.push_back(slot(term.slot));
      }
      slot(combination->destination) = programs_.combine(coefficients, terms, dtype);
      continue;
    }
    // Clipping and thresholding: on the host, in f32.
    const Slot target = std::visit(
        [](const auto& a) {
          if constexpr (requires { a.slot; })
            return a.slot;
          else
            return a.destination;
        },
        action);
    Tensor values = context_.download(slot(target)).to(DType::f32);
    apply_on_host({{action}, 0, false, {}}, [&](Slot) -> Tensor& { return values; });
    slot(target) = context_.upload(values.to(dtype));
    ++host_actions_;
  }
  pred_original_ = step.pred_original_sample ? slot(*step.pred_original_sample) : nullptr;
}

}  // namespace perfuse
