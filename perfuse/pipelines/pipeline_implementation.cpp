#include "perfuse/pipelines/pipeline_implementation.h"

#include <algorithm>
#include <map>
#include <set>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/graph/memory_plan.h"
#include "perfuse/runtime/host_memory.h"
#include "perfuse/runtime/traits.h"

namespace perfuse {
namespace {

std::map<std::string, PipelineFactory, std::less<>>& registry() {
  static std::map<std::string, PipelineFactory, std::less<>> factories;
  return factories;
}

// Bytes of the values that live at the same time at most, parameters left out.
std::uint64_t live_bytes(const graph::Graph& graph) {
  std::map<graph::ValueId, graph::Lifetime> lifetimes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const int step = static_cast<int>(i);
    const auto result = graph.nodes[i].result;
    lifetimes[result] = {graph.type(result).bytes(), step, step};
    for (const auto operand : graph.nodes[i].operands)
      if (const auto found = lifetimes.find(operand); found != lifetimes.end()) found->second.last = step;
  }
  std::vector<graph::Lifetime> list;
  for (const auto& [value, lifetime] : lifetimes) list.push_back(lifetime);
  return graph::plan_memory(list).total;
}

DType dtype_of(const LoadOptions& options) {
  return options.dtype.value_or(runtime::traits(options.device.kind()).default_dtype);
}

std::string describe(const std::vector<runtime::Module::SegmentChoice>& choices) {
  std::string text;
  for (const auto& choice : choices) {
    text += fmt::format(
        "  {}{}\n", choice.segments.front(),
        choice.segments.size() > 1 ? fmt::format(" and {} more", choice.segments.size() - 1) : "");
    // Equal lines are counted: a block has many additions of one kind.
    std::vector<std::pair<std::string, int>> lines;
    for (const auto& kernel : choice.kernels) {
      const auto op = kernel.node.substr(kernel.node.rfind(": ") + 2);
      std::string line = fmt::format("    {}: {}", op, kernel.kernel);
      for (const auto& refusal : kernel.refusals) line += fmt::format("\n      not {}", refusal);
      const auto same =
          std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == line; });
      if (same != lines.end())
        ++same->second;
      else
        lines.emplace_back(line, 1);
    }
    for (const auto& [line, count] : lines) {
      const auto end = line.find('\n');
      text += line.substr(0, end) + (count > 1 ? fmt::format(" (× {})", count) : "") +
              (end == std::string::npos ? "" : line.substr(end)) + "\n";
    }
  }
  return text;
}

}  // namespace

RegisterPipeline::RegisterPipeline(std::string_view class_name, PipelineFactory factory) {
  registry().emplace(class_name, factory);
}

PipelineFactory pipeline_factory(const ModelIndex& index) {
  const auto found = registry().find(index.class_name);
  if (found != registry().end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, factory] : registry()) known.push_back(name);
  fail(ErrorKind::unsupported, "{}: _class_name: {}", (index.folder / "model_index.json").string(),
       unknown_name("pipeline class", index.class_name, known));
}

bool LoadedModels::stay_in_memory() const {
  constexpr std::uint64_t kResidentFraction = 4;
  std::uint64_t total = 0;
  for (const Model* model : models) total += model->component().weights()->total_bytes();
  return total <= runtime::host_memory_limit() / kResidentFraction;
}

void LoadedModels::leave(const Model& model) const {
  if (stay_in_memory())
    model.component().release_workspaces();
  else
    model.component().release();
}

PipelineImplementation::PipelineImplementation(ModelIndex index, LoadOptions options)
    : index_(std::move(index)), options_(std::move(options)) {
  if (options_.dtype && (!is_floating(*options_.dtype) || *options_.dtype == DType::f64))
    fail(ErrorKind::usage, "dtype: {}, expected f32, bf16 or f16", to_string(*options_.dtype));
}

void PipelineImplementation::to(Device device) {
  const std::scoped_lock lock(mutex_);
  if (options_.device == device) return;
  static_cast<void>(runtime::backend_for(device));  // refuses before anything is given up
  options_.device = device;
  loaded_.reset();
}

Device PipelineImplementation::device() const {
  const std::scoped_lock lock(mutex_);
  return options_.device;
}

DType PipelineImplementation::dtype() const {
  const std::scoped_lock lock(mutex_);
  return dtype_of(options_);
}

std::shared_ptr<LoadedModels> PipelineImplementation::loaded() {
  const std::scoped_lock lock(mutex_);
  if (loaded_) return loaded_;
  LoadOptions options = options_;
  options.dtype = dtype_of(options_);
  loaded_ = load(std::make_shared<runtime::DeviceContext>(options_.device), options);
  return loaded_;
}

std::vector<ComponentInfo> PipelineImplementation::components() {
  const auto models = loaded();
  std::vector<ComponentInfo> result;
  for (const Model* model : models->models) {
    ComponentInfo info;
    info.name = model->component().name();
    info.class_name = model->class_name();
    const WeightFiles& weights = *model->component().weights();
    std::set<std::string> types;
    for (const auto& name : weights.names()) {
      const auto found = weights.find(name);
      info.parameters += numel(found->shape);
      types.emplace(to_string(found->dtype));
    }
    info.types.assign(types.begin(), types.end());
    info.bytes = weights.total_bytes();
    result.push_back(std::move(info));
  }
  return result;
}

std::vector<ComponentReport> PipelineImplementation::report() {
  const auto models = loaded();
  std::vector<ComponentReport> result;
  for (const Model* model : models->models) {
    ComponentReport report{
        model->component().name(), models->context->device(), model->component().dtype(), "", 0, 0, 0, 0, 0};
    for (const auto& module : model->component().modules()) {
      const auto& plan = module->plan();
      report.segments += plan.segments;
      report.distinct_executables += plan.distinct_executables;
      report.value_bytes = std::max(report.value_bytes, plan.value_bytes);
      report.scratch_bytes = std::max(report.scratch_bytes, plan.scratch_bytes);
      report.parameter_bytes = std::max(report.parameter_bytes, plan.parameter_bytes);
      report.kernels += describe(module->explain());
    }
    result.push_back(std::move(report));
  }
  return result;
}

std::uint64_t PipelineImplementation::memory_needed(const CallArguments& arguments) {
  const auto models = loaded();
  const bool stay = models->stay_in_memory();
  std::uint64_t most = 0, resident = 0;
  for (const auto& graph : graphs(arguments)) {
    const auto model = std::find_if(models->models.begin(), models->models.end(),
                                    [&](const Model* m) { return m->component().name() == graph.name; });
    const auto weights = (*model)->component().weights()->total_bytes();
    resident = stay ? resident + weights : weights;
    most = std::max(most, resident + live_bytes(graph));
  }
  return most;
}

std::uint64_t PipelineImplementation::executables_compiled() {
  return loaded()->context->counters().executables_compiled;
}

}  // namespace perfuse
