// Runs scheduler steps on host tensors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {
namespace {

using SlotLookup = std::function<Tensor&(Slot)>;

void run(const Combination& combination, const SlotLookup& at) {
  if (combination.terms.empty()) fail(ErrorKind::usage, "a scheduler step combines nothing");
  const Shape shape = at(combination.terms.front().slot).shape();
  Tensor sum = Tensor::zeros(DType::f32, shape);
  const auto out = sum.mutable_data<float>();
  for (const Term& term : combination.terms) {
    const Tensor& source = at(term.slot);
    if (source.shape() != shape)
      fail(ErrorKind::usage, "a scheduler step combines tensors of shapes {} and {}", to_string(shape),
           to_string(source.shape()));
    const Tensor values = source.to(DType::f32);
    const auto in = values.data<float>();
    const auto coefficient = static_cast<float>(term.coefficient);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += coefficient * in[i];
  }
  // An unused history slot takes the result's shape; others keep their type.
  Tensor& destination = at(combination.destination);
  destination = destination.shape() == shape ? sum.to(destination.dtype()) : sum;
}

void run(const Clip& clip, const SlotLookup& at) {
  Tensor& slot = at(clip.slot);
  Tensor values = slot.to(DType::f32);
  const auto range = static_cast<float>(clip.range);
  for (float& value : values.mutable_data<float>()) value = std::clamp(value, -range, range);  // NaN stays
  slot = values.to(slot.dtype());
}

// torch.quantile with linear interpolation; NaN if one is among the values. Reorders them.
float quantile(std::vector<float>& values, double ratio) {
  for (const float value : values)
    if (std::isnan(value)) return value;
  const float rank = static_cast<float>(ratio) * static_cast<float>(values.size() - 1);
  const float below = std::floor(rank);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, middle);
  const float weight = rank - below;
  if (weight == 0) return *middle;
  const float low = *middle;
  const float high = *std::min_element(middle + 1, values.end());
  return weight < 0.5F ? low + weight * (high - low) : high - (high - low) * (1 - weight);
}

void run(const DynamicThreshold& threshold, const SlotLookup& at) {
  Tensor& slot = at(threshold.slot);
  if (slot.rank() < 1) fail(ErrorKind::usage, "thresholding needs a batch axis, the tensor is a scalar");
  Tensor values = slot.to(DType::f32);
  const auto all = values.mutable_data<float>();
  const auto batch = static_cast<std::size_t>(slot.dim(0));
  const std::size_t each = batch == 0 ? 0 : all.size() / batch;
  std::vector<float> magnitudes(each);
  for (std::size_t entry = 0; each > 0 && entry < batch; ++entry) {
    const auto part = all.subspan(entry * each, each);
    std::ranges::transform(part, magnitudes.begin(), [](float value) { return std::abs(value); });
    const float found = quantile(magnitudes, threshold.ratio);
    const auto most = static_cast<float>(threshold.max);
    // torch.clamp(min=1, max=most): the maximum wins where it is below 1
    const float s = std::isnan(found) ? found : std::min(std::max(found, 1.0F), most);
    for (float& value : part) value = std::isnan(s) ? s : std::clamp(value, -s, s) / s;
  }
  slot = values.to(slot.dtype());
}

}  // namespace

void apply_on_host(const Step& step, const std::function<Tensor&(Slot)>& at) {
  for (const Action& action : step.actions) std::visit([&](const auto& one) { run(one, at); }, action);
}

}  // namespace perfuse
