#include "perfuse/runtime/component.h"

#include "perfuse/core/error.h"

namespace perfuse::runtime {

Component::Component(std::string name, std::shared_ptr<const WeightFiles> weights,
                     std::shared_ptr<DeviceContext> context, ComponentOptions options)
    : name_(std::move(name)),
      context_(std::move(context)),
      options_(std::move(options)),
      parameters_(std::make_shared<ParameterStore>(std::move(weights), context_)) {
  if (options_.mesh.size() != 1)
    fail(ErrorKind::unsupported, "{}: a mesh of {} devices; {} runs on one", name_, options_.mesh.size(),
         to_string(context_->device()));
}

std::shared_ptr<const Module> Component::module(const std::string& key, const std::vector<std::string>& taps,
                                                const Build& build) {
  std::string full_key = key;
  for (const auto& path : taps) full_key += "|" + path;
  const std::scoped_lock lock(mutex_);
  auto& entry = modules_[full_key];
  if (entry) return entry;
  graph::Graph graph = build();
  for (const auto& path : taps) graph::tap(graph, path);
  entry = std::make_shared<const Module>(std::move(graph), options_.granularity, context_, parameters_);
  return entry;
}

void Component::release() {
  release_workspaces();
  parameters_->release();
}

void Component::release_workspaces() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, module] : modules_)
    if (module) module->release_workspaces();
}

std::vector<std::shared_ptr<const Module>> Component::modules() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Module>> result;
  for (const auto& [key, module] : modules_)
    if (module) result.push_back(module);
  return result;
}

}  // namespace perfuse::runtime
