// What stands behind a DiffusionPipeline handle: one subclass per family of pipelines.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "perfuse/models/model.h"
#include "perfuse/pipelines/diffusion_pipeline.h"
#include "perfuse/pipelines/latent_programs.h"
#include "perfuse/pipelines/model_index.h"

namespace perfuse {

// The models of a pipeline on one device. Immutable once made, shared by calls that overlap; `to` makes a new one.
struct LoadedModels {
  virtual ~LoadedModels() = default;
  std::shared_ptr<runtime::DeviceContext> context;
  DType dtype = DType::f32;
  std::unique_ptr<LatentPrograms> programs;
  // By component name, in the order in which a run uses them.
  std::vector<Model*> models;

  // False where the models together take more than a quarter of memory: each then leaves it when its stage is over.
  [[nodiscard]] bool stay_in_memory() const;
  // A stage is over: gives back what its model needn't keep until the next call.
  void leave(const Model& model) const;
};

class PipelineImplementation {
 public:
  PipelineImplementation(ModelIndex index, LoadOptions options);
  virtual ~PipelineImplementation() = default;
  PipelineImplementation(const PipelineImplementation&) = delete;
  PipelineImplementation& operator=(const PipelineImplementation&) = delete;

  [[nodiscard]] const ModelIndex& index() const { return index_; }
  void to(Device device);
  [[nodiscard]] Device device() const;
  [[nodiscard]] DType dtype() const;

  [[nodiscard]] virtual PipelineOutput run(const CallArguments& arguments) = 0;
  // Of each model that a run with these arguments runs, in order; a graph has its component's name.
  [[nodiscard]] virtual std::vector<graph::Graph> graphs(const CallArguments& arguments) = 0;

  [[nodiscard]] std::vector<ComponentInfo> components();
  [[nodiscard]] std::vector<ComponentReport> report();
  [[nodiscard]] std::uint64_t memory_needed(const CallArguments& arguments);
  [[nodiscard]] std::uint64_t executables_compiled();

 protected:
  // Makes the models on a device; checks every weight (by building each graph once) before any is read.
  [[nodiscard]] virtual std::shared_ptr<LoadedModels> load(std::shared_ptr<runtime::DeviceContext> context,
                                                           const LoadOptions& options) = 0;
  // The models on the present device, made at the first call.
  [[nodiscard]] std::shared_ptr<LoadedModels> loaded();

 private:
  ModelIndex index_;
  mutable std::mutex mutex_;
  LoadOptions options_;
  std::shared_ptr<LoadedModels> loaded_;
};

// Pipeline classes by diffusers' name.
using PipelineFactory = std::shared_ptr<PipelineImplementation> (*)(ModelIndex index,
                                                                    const LoadOptions& options);
struct RegisterPipeline {
  RegisterPipeline(std::string_view class_name, PipelineFactory factory);
};
[[nodiscard]] PipelineFactory pipeline_factory(const ModelIndex& index);
// Makes one; an error about the folder also says where its download is not complete.
[[nodiscard]] DiffusionPipeline make_pipeline(ModelIndex index, const LoadOptions& options,
                                              PipelineFactory factory);

}  // namespace perfuse
