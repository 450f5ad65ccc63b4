#include "apps/cli/dump.h"

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"
#include "perfuse/tensor/safetensors.h"

namespace perfuse::cli {

TensorDump::TensorDump(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.extension() != ".safetensors")
    fail(ErrorKind::usage, "--dump-tensors {}: expected a name that ends in .safetensors",
         quote(file_.string(), 200));
  check_writable(file_);
}

TensorSink TensorDump::sink() {
  return [this](const std::string& key, const Tensor& tensor) { keep(key, tensor); };
}

void TensorDump::keep(const std::string& key, const Tensor& tensor) {
  const auto before =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& entry) { return entry.first == key; });
  if (before != tensors_.end())
    before->second = tensor;
  else
    tensors_.emplace_back(key, tensor);
}

void TensorDump::write(const PipelineOutput& output, const std::vector<std::string>& taps) {
  const auto holds = [&](std::string_view key) {
    return std::any_of(tensors_.begin(), tensors_.end(),
                       [&](const auto& entry) { return entry.first == key; });
  };
  if (!holds("image")) keep("image", output.image_tensor);
  for (const auto& tap : taps)
    if (!holds(tap))
      fail(ErrorKind::usage,
           "--tap {}: the run gave no tensor of that module path (perfuse inspect --graph lists them)",
           quote(tap, 200));
  write_safetensors(file_, tensors_);
}

}  // namespace perfuse::cli
