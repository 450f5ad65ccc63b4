// The small programs between the models: scaling and doubling latents, guidance, a scheduler's sums. They run on
// the denoiser's device, so that latents stay there.
#pragma once

#include <memory>
#include <vector>

#include "perfuse/runtime/component.h"

namespace perfuse {

class LatentPrograms {
 public:
  LatentPrograms(std::shared_ptr<runtime::DeviceContext> context, DType dtype);

  // Σ coefficients[i] · terms[i], of type `dtype`.
  [[nodiscard]] runtime::BufferPtr combine(const std::vector<double>& coefficients,
                                           const std::vector<runtime::BufferPtr>& terms, DType dtype);
  // x · scale, `copies` times one after the other along the batch.
  [[nodiscard]] runtime::BufferPtr model_input(const runtime::BufferPtr& x, double scale, int copies);
  // negative + scale · (positive − negative) over the first `channels` channels. With one buffer, it holds the
  // negative predictions and then the positive ones.
  [[nodiscard]] runtime::BufferPtr guide(const std::vector<runtime::BufferPtr>& predictions, double scale,
                                         std::int64_t channels);
  // The first `channels` channels.
  [[nodiscard]] runtime::BufferPtr first_channels(const runtime::BufferPtr& x, std::int64_t channels);
  // Each batch entry `times` times in a row.
  [[nodiscard]] runtime::BufferPtr repeat_interleave(const runtime::BufferPtr& x, std::int64_t times);

 private:
  [[nodiscard]] runtime::BufferPtr upload(const std::vector<double>& coefficients);

  DType dtype_;
  runtime::Component component_;
};

}  // namespace perfuse
