#include "perfuse/runtime/module.h"

#include <algorithm>
#include <set>

#include "perfuse/core/error.h"
#include "perfuse/graph/memory_plan.h"

namespace perfuse::runtime {
namespace {

std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }

graph::ValueType bytes_type(std::size_t bytes) { return {DType::u8, {static_cast<std::int64_t>(bytes)}}; }

}  // namespace

Module::Module(graph::Graph graph, graph::Granularity granularity, std::shared_ptr<DeviceContext> context,
               std::shared_ptr<ParameterStore> parameters)
    : graph_(std::move(graph)),
      context_(std::move(context)),
      parameters_(std::move(parameters)),
      segments_(graph::cut(graph_, granularity)) {
  std::set<const Executable*> distinct;
  for (const auto& segment : segments_) {
    executables_.push_back(context_->executable(segment));
    distinct.insert(executables_.back().get());
    plan_.scratch_bytes = std::max(plan_.scratch_bytes, executables_.back()->scratch_bytes());
  }
  plan_.segments = segments_.size();
  plan_.distinct_executables = distinct.size();
  for (const auto& parameter : graph_.parameters)
    plan_.parameter_bytes += graph_.type(parameter.value).bytes();
  plan_values();
}

void Module::plan_values() {
  // Values that one segment hands to a later one: from where they are made to where they are last read.
  std::map<graph::ValueId, graph::Lifetime> lifetimes;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const int step = static_cast<int>(s);
    for (const auto value : segments_[s].outputs) lifetimes[value] = {graph_.type(value).bytes(), step, step};
    for (const auto value : segments_[s].inputs)
      if (const auto found = lifetimes.find(value); found != lifetimes.end()) found->second.last = step;
  }
  // Outputs of the graph leave with the caller: each run makes them anew.
  for (const auto& output : graph_.outputs) lifetimes.erase(output.value);

  dead_after_.resize(segments_.size());
  std::vector<graph::Lifetime> list;
  for (const auto& [value, lifetime] : lifetimes) {
    list.push_back(lifetime);
    dead_after_[static_cast<std::size_t>(lifetime.last)].push_back(value);
  }
  const auto plan = graph::plan_memory(list);
  plan_.value_bytes = plan.total;
  std::size_t i = 0;
  for (const auto& [value, lifetime] : lifetimes) offsets_.emplace_back(value, plan.offsets[i++]);
}

Module::Workspace Module::take_workspace() const {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      Workspace workspace = std::move(idle_.back());
      idle_.pop_back();
      return workspace;
    }
  }
  Backend& backend = context_->backend();
  Workspace workspace;
  workspace.values.resize(graph_.types.size());
  if (plan_.scratch_bytes > 0) workspace.scratch = backend.allocate(bytes_type(plan_.scratch_bytes));
  if (plan_.value_bytes > 0) {
    const BufferPtr area = backend.allocate(bytes_type(plan_.value_bytes));
    for (const auto& [value, offset] : offsets_)
      workspace.values[index(value)] = backend.place(area, offset, graph_.type(value));
  }
  return workspace;
}

void Module::release_workspaces() const {
  const std::scoped_lock lock(mutex_);
  idle_.clear();
}

NamedBuffers Module::run(const NamedBuffers& inputs, const std::stop_token& stop) const {
  Workspace workspace = take_workspace();
  std::vector<BufferPtr> values = workspace.values;
  for (const auto& port : graph_.inputs) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end() || !found->second)
      fail(ErrorKind::usage, "{}: input {} was not given", graph_.name, port.name);
    if (found->second->type() != graph_.type(port.value))
      fail(ErrorKind::usage, "{}: input {} is {}, expected {}", graph_.name, port.name,
           to_string(found->second->type()), to_string(graph_.type(port.value)));
    values[index(port.value)] = found->second;
  }

  std::vector<BufferPtr> parameters, in, out;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (stop.stop_requested()) fail(ErrorKind::cancelled, "stopped");
    const auto& segment = segments_[s];
    parameters.clear(), in.clear(), out.clear();
    for (const auto& use : executables_[s]->parameter_uses()) {
      const auto& parameter = graph_.parameters[static_cast<std::size_t>(
          segment.parameters[static_cast<std::size_t>(use.parameter)])];
      parameters.push_back(parameters_->get(parameter, graph_.type(parameter.value), *use.format));
    }
    for (const auto value : segment.inputs) in.push_back(values[index(value)]);
    for (const auto value : segment.outputs) out.push_back(values[index(value)]);
    executables_[s]->run(parameters, in, out, workspace.scratch);
    for (std::size_t i = 0; i < out.size(); ++i) values[index(segment.outputs[i])] = out[i];
    // What the executable made itself goes as soon as nobody needs it.
    for (const auto value : dead_after_[s])
      if (!workspace.values[index(value)]) values[index(value)].reset();
  }

  NamedBuffers outputs;
  for (const auto& port : graph_.outputs) outputs[port.name] = values[index(port.value)];
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(workspace));
  return outputs;
}

std::vector<Module::SegmentChoice> Module::explain() const {
  std::map<const Executable*, std::size_t> seen;
  std::vector<SegmentChoice> choices;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const auto [entry, is_new] = seen.try_emplace(executables_[s].get(), choices.size());
    if (is_new) choices.push_back({{}, executables_[s]->explain()});
    choices[entry->second].segments.push_back(segments_[s].name);
  }
  return choices;
}

}  // namespace perfuse::runtime
