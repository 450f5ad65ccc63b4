// Pipelines: prompt in, picture out. A DiffusionPipeline is a handle; copies share the model.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perfuse/graph/segment.h"
#include "perfuse/pipelines/arguments.h"
#include "perfuse/runtime/device.h"
#include "perfuse/tensor/dtype.h"

namespace perfuse {

struct LoadOptions {
  std::optional<DType> dtype = {};  // of the arithmetic; default: the device's (f32 on the CPU)
  std::string variant = {};         // "fp16": files named *.fp16.safetensors
  graph::Granularity granularity = graph::Granularity::block;
  Device device = {};
};

// One line of `perfuse inspect`.
struct ComponentInfo {
  std::string name, class_name;
  std::int64_t parameters = 0;
  std::uint64_t bytes = 0;         // in the files
  std::vector<std::string> types;  // that the files hold
};

struct ComponentReport {
  std::string name;
  Device device;
  DType dtype;
  std::string kernels;  // choices and refusals, as text
  std::size_t segments, distinct_executables;
  std::size_t value_bytes, scratch_bytes, parameter_bytes;
};

class PipelineImplementation;

class DiffusionPipeline {
 public:
  explicit DiffusionPipeline(std::shared_ptr<PipelineImplementation> implementation);

  // diffusers' class name ("PixArtSigmaPipeline").
  [[nodiscard]] std::string class_name() const;
  [[nodiscard]] const std::filesystem::path& folder() const;

  // Moves the model to another device (weights come when they are needed).
  void to(Device device);
  [[nodiscard]] Device device() const;
  [[nodiscard]] DType dtype() const;

  // Thread-safe: calls on one pipeline may overlap.
  [[nodiscard]] PipelineOutput operator()(const CallArguments& arguments) const;
  // Runs once with these arguments and throws the picture away: afterwards everything that they need is
  // compiled and loaded.
  void warmup(const CallArguments& arguments) const;

  [[nodiscard]] std::vector<ComponentInfo> components() const;
  // What ran so far and how (--explain).
  [[nodiscard]] std::vector<ComponentReport> report() const;
  // A component's graph at the sizes of these arguments.
  [[nodiscard]] graph::Graph component_graph(const std::string& component,
                                             const CallArguments& arguments) const;
  // Most bytes that a run with these arguments needs: weights at their stored type and values.
  [[nodiscard]] std::uint64_t memory_needed(const CallArguments& arguments) const;
  // Executables compiled since the pipeline was made.
  [[nodiscard]] std::uint64_t executables_compiled() const;

 private:
  std::shared_ptr<PipelineImplementation> implementation_;
};

// `folder` is what save_pretrained writes, or "ORG/NAME" or "ORG/NAME@REVISION" for a model in the local cache of the
// Hugging Face hub (see hub_cache.h); nothing is downloaded. Chooses the class by model_index.json's _class_name. Error(model) for a folder without or with a broken one,
// Error(unsupported) naming the class and the known ones.
struct AutoPipelineForText2Image {
  [[nodiscard]] static DiffusionPipeline from_pretrained(const std::filesystem::path& folder,
                                                         const LoadOptions& options = {});
};

}  // namespace perfuse
