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
  const auto& row = context_->traits();
  if (const auto& rule = row.types[static_cast<std::size_t>(options_.dtype)]; rule.replacement != rule.type)
    fail(ErrorKind::unsupported, "dtype: {} devices have no {}; use {}", row.name, to_string(rule.type),
         to_string(rule.replacement));
  check(options_.compile);
}

void Component::check(const CompileOptions& options) const {
  const auto& row = context_->traits();
  const bool eager = options.granularity == graph::Granularity::op;
  if (eager ? !row.eager : !row.compiled)
    fail(ErrorKind::unsupported, "{}: granularity {}: {} devices don't run {}", name_,
         graph::to_string(options.granularity), row.name, eager ? "op by op" : "compiled programs");
}

void Component::set_compile_options(const CompileOptions& options) {
  check(options);
  const std::scoped_lock lock(mutex_);
  options_.compile = options;
  modules_.clear();  // runs under way keep theirs
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
  entry = std::make_shared<const Module>(std::move(graph), options_.compile, context_, parameters_);
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
