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

Module::Module(graph::Graph graph, const CompileOptions& options, std::shared_ptr<DeviceContext> context,
               std::shared_ptr<ParameterStore> parameters)
    : graph_(std::move(graph)), context_(std::move(context)), parameters_(std::move(parameters)) {
  const auto on_host = host_nodes(options.fullgraph);
  segments_ = graph::cut(graph_, options.granularity,
                         [&](const graph::Node& node) { return on_host.contains(&node); });
  compile(options.cache);
  for (const auto& parameter : graph_.parameters)
    plan_.parameter_bytes += graph_.type(parameter.value).bytes();
  plan_values();
}

std::set<const graph::Node*> Module::host_nodes(bool fullgraph) const {
  std::set<const graph::Node*> nodes;
  for (const auto& node : graph_.nodes) {
    const auto reason = context_->refusal(graph_, node);
    if (!reason) continue;
    if (fullgraph)
      fail(ErrorKind::unsupported, "{}: {} ({}) would run on the host: {}; without fullgraph it does",
           graph_.name, node.path, graph::to_string(node.op), *reason);
    nodes.insert(&node);
  }
  return nodes;
}

// Device programs side by side; what the host runs is chosen, not compiled.
void Module::compile(const std::shared_ptr<CompileCache>& cache) {
  std::vector<graph::Segment> here, on_host;
  for (const auto& segment : segments_) (segment.on_host ? on_host : here).push_back(segment);
  const auto ours = context_->executables(graph_.name, here, cache);
  const auto theirs = on_host.empty() ? ours : context_->host().executables(graph_.name, on_host, nullptr);
  std::set<const Executable*> distinct;
  std::size_t next = 0, next_on_host = 0;
  for (const auto& segment : segments_) {
    executables_.push_back(segment.on_host ? theirs[next_on_host++] : ours[next++]);
    distinct.insert(executables_.back().get());
    if (!segment.on_host)
      plan_.scratch_bytes = std::max(plan_.scratch_bytes, executables_.back()->scratch_bytes());
  }
  plan_.segments = segments_.size();
  plan_.distinct_executables = distinct.size();
  plan_.host_segments = on_host.size();
}

void Module::plan_values() {
  // Values that one segment hands to a later one: from where they are made to where they are last read.
  std::map<graph::ValueId, graph::Lifetime> lifetimes;
  std::map<graph::ValueId, int> last_use;  // of the graph's inputs too
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const int step = static_cast<int>(s);
    for (const auto value : segments_[s].outputs) lifetimes[value] = {graph_.type(value).bytes(), step, step};
    for (const auto value : segments_[s].inputs) {
      if (const auto found = lifetimes.find(value); found != lifetimes.end()) found->second.last = step;
      last_use[value] = step;
    }
  }
  // Outputs of the graph leave with the caller: each run makes them anew.
  for (const auto& output : graph_.outputs) lifetimes.erase(output.value), last_use.erase(output.value);

  dead_after_.resize(segments_.size());
  std::vector<graph::Lifetime> list;
  for (const auto& [value, lifetime] : lifetimes) {
    list.push_back(lifetime);
    last_use[value] = lifetime.last;  // where nobody reads it, right after it is made
  }
  for (const auto& [value, last] : last_use) dead_after_[static_cast<std::size_t>(last)].push_back(value);
  if (!context_->backend().places_values()) return;
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

NamedBuffers Module::run(const NamedBuffers& inputs, const std::stop_token& stop,
                         const std::set<std::string, std::less<>>& given_away) const {
  Workspace workspace = take_workspace();
  std::vector<BufferPtr> values = workspace.values;
  // Values whose memory this run may give away at their last use: what its executables make, and what the caller says.
  std::set<graph::ValueId> mine;
  for (const auto& segment : segments_)
    for (const auto value : segment.outputs)
      if (!workspace.values[index(value)]) mine.insert(value);
  for (const auto& port : graph_.outputs) mine.erase(port.value);
  for (const auto& port : graph_.inputs) {
    const auto found = inputs.find(port.name);
    if (found == inputs.end() || !found->second)
      fail(ErrorKind::usage, "{}: input {} was not given", graph_.name, port.name);
    const Buffer& buffer = *found->second;
    if (buffer.type() != graph_.type(port.value))
      fail(ErrorKind::usage, "{}: input {} is {}, expected {}", graph_.name, port.name,
           to_string(buffer.type()), to_string(graph_.type(port.value)));
    if (buffer.device() != context_->device())
      fail(ErrorKind::usage, "{}: input {} is on {}, expected {}", graph_.name, port.name,
           to_string(buffer.device()), to_string(context_->device()));
    values[index(port.value)] = found->second;
    if (given_away.contains(port.name)) mine.insert(port.value);
  }

  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (stop.stop_requested()) fail(ErrorKind::cancelled, "stopped");
    if (segments_[s].on_host)
      run_on_host(s, values);
    else
      run_segment(s, values, workspace.scratch, mine);
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

std::vector<BufferPtr> Module::parameters_of(std::size_t s) const {
  std::vector<BufferPtr> parameters;
  for (const auto& use : executables_[s]->parameter_uses()) {
    const auto& parameter = graph_.parameters[static_cast<std::size_t>(
        segments_[s].parameters[static_cast<std::size_t>(use.parameter)])];
    parameters.push_back(parameters_->get(parameter, graph_.type(parameter.value), *use.format));
  }
  return parameters;
}

void Module::run_segment(std::size_t s, std::vector<BufferPtr>& values, const BufferPtr& scratch,
                         const std::set<graph::ValueId>& mine) const {
  const auto& segment = segments_[s];
  const auto& dead = dead_after_[s];
  std::vector<InputValue> in;
  std::vector<BufferPtr> out;
  for (const auto value : segment.inputs)
    in.push_back({values[index(value)],
                  mine.contains(value) && std::find(dead.begin(), dead.end(), value) != dead.end()});
  for (const auto value : segment.outputs) out.push_back(values[index(value)]);
  executables_[s]->run(parameters_of(s), in, out, scratch);
  for (std::size_t i = 0; i < out.size(); ++i) values[index(segment.outputs[i])] = out[i];
}

// Down, computed on the CPU, up again.
void Module::run_on_host(std::size_t s, std::vector<BufferPtr>& values) const {
  const auto& segment = segments_[s];
  DeviceContext& host = context_->host();
  std::vector<InputValue> in;
  for (const auto value : segment.inputs)
    in.push_back({host.backend().upload(context_->download(values[index(value)]))});
  std::vector<BufferPtr> out(segment.outputs.size());
  const std::size_t scratch_bytes = executables_[s]->scratch_bytes();
  const BufferPtr scratch = scratch_bytes > 0 ? host.backend().allocate(bytes_type(scratch_bytes)) : nullptr;
  executables_[s]->run(parameters_of(s), in, out, scratch);
  for (std::size_t i = 0; i < out.size(); ++i)
    values[index(segment.outputs[i])] = context_->upload(host.backend().download(out[i]));
  for (const auto& node : segment.program.nodes) context_->count_host_run(node);
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
