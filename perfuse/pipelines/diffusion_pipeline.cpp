#include "perfuse/pipelines/diffusion_pipeline.h"

#include <array>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/pipelines/pipeline_implementation.h"

namespace perfuse {

DiffusionPipeline::DiffusionPipeline(std::shared_ptr<PipelineImplementation> implementation)
    : implementation_(std::move(implementation)) {}

std::string DiffusionPipeline::class_name() const { return implementation_->index().class_name; }
const std::filesystem::path& DiffusionPipeline::folder() const { return implementation_->index().folder; }
void DiffusionPipeline::to(Device device) { implementation_->to(device); }
Device DiffusionPipeline::device() const { return implementation_->device(); }
DType DiffusionPipeline::dtype() const { return implementation_->dtype(); }

PipelineOutput DiffusionPipeline::operator()(const CallArguments& arguments) const {
  return implementation_->run(arguments);
}
void DiffusionPipeline::warmup(const CallArguments& arguments) const {
  static_cast<void>(implementation_->run(arguments));
}

std::vector<ComponentInfo> DiffusionPipeline::components() const { return implementation_->components(); }
std::vector<ComponentReport> DiffusionPipeline::report() const { return implementation_->report(); }

graph::Graph DiffusionPipeline::component_graph(const std::string& component,
                                                const CallArguments& arguments) const {
  std::vector<std::string> known;
  for (auto& graph : implementation_->graphs(arguments)) {
    if (graph.name == component) return std::move(graph);
    known.push_back(graph.name);
  }
  fail(ErrorKind::usage, "{}: {}", folder().string(), unknown_name("component", component, known));
}

std::uint64_t DiffusionPipeline::memory_needed(const CallArguments& arguments) const {
  return implementation_->memory_needed(arguments);
}
std::uint64_t DiffusionPipeline::executables_compiled() const {
  return implementation_->executables_compiled();
}

DiffusionPipeline make_pipeline(ModelIndex index, const LoadOptions& options, PipelineFactory factory) {
  try {
    return DiffusionPipeline(factory(index, options));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model && error.kind() != ErrorKind::io) throw;
    const std::string advice = index.download_advice();
    if (advice.empty()) throw;
    throw Error(error.kind(), fmt::format("{}; {}", error.what(), advice));
  }
}

DiffusionPipeline AutoPipelineForText2Image::from_pretrained(const std::filesystem::path& folder,
                                                             const LoadOptions& options) {
  ModelIndex index = ModelIndex::read(folder);
  const PipelineFactory factory = pipeline_factory(index);
  return make_pipeline(std::move(index), options, factory);
}

std::string_view to_string(CfgMode mode) {
  switch (mode) {
    case CfgMode::automatic: return "automatic";
    case CfgMode::sequential: return "sequential";
    case CfgMode::batched: return "batched";
    case CfgMode::parallel: return "parallel";
  }
  return "?";
}

std::optional<CfgMode> parse_cfg_mode(std::string_view name) {
  for (const auto mode : {CfgMode::automatic, CfgMode::sequential, CfgMode::batched, CfgMode::parallel})
    if (to_string(mode) == name) return mode;
  return std::nullopt;
}

}  // namespace perfuse
