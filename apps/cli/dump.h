// --dump-tensors: the pipeline's tensors, collected while it runs and written at the end.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "perfuse/pipelines/arguments.h"

namespace perfuse::cli {

class TensorDump {
 public:
  // Error(io or usage) where the file could not be written.
  explicit TensorDump(std::filesystem::path file);

  // Keeps what it is given, in order; a key that comes again replaces the earlier tensor. Outlived by this object.
  [[nodiscard]] TensorSink sink();

  // Adds the picture where the pipeline did not, and writes the file, whole or not at all. Error(usage) naming the
  // module paths asked for that gave no tensor.
  void write(const PipelineOutput& output, const std::vector<std::string>& taps);

 private:
  void keep(const std::string& key, const Tensor& tensor);

  std::filesystem::path file_;
  std::vector<std::pair<std::string, Tensor>> tensors_;
};

}  // namespace perfuse::cli
