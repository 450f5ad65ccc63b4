#include "perfuse/pipelines/run_log.h"

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse {

void RunLog::stage(std::string name) {
  const auto now = Clock::now();
  if (!stage_.empty()) times_.push_back({stage_, std::chrono::duration<double>(now - started_).count()});
  stage_ = std::move(name);
  started_ = now;
  if (!stage_.empty()) progress(0, 1);
}

void RunLog::progress(int done, int total) const {
  if (arguments_.progress) arguments_.progress(stage_, done, total);
}

void RunLog::warn(const std::string& message) {
  log::warning("{}", message);
  warnings_.push_back(message);
}

void RunLog::tensor(const std::string& key, const Tensor& value) const {
  if (arguments_.tensors) arguments_.tensors(key, value);
}

void RunLog::nhwc(const std::string& key, const runtime::BufferPtr& value) const {
  if (arguments_.tensors) arguments_.tensors(key, nhwc_to_nchw(context_.download(value)));
}

runtime::RunOptions RunLog::options_for(const std::string& component, int passes) {
  runtime::RunOptions options{{}, arguments_.stop};
  if (!arguments_.tensors) return options;
  auto& tapped = tapped_.try_emplace(component, Tapped{passes, {}}).first->second;
  if (tapped.passes_left == 0) return options;
  --tapped.passes_left;
  const std::string prefix = component + ".";
  for (const auto& path : arguments_.taps)
    if (path.starts_with(prefix)) options.taps.push_back(path.substr(prefix.size()));
  return options;
}

void RunLog::taps(const std::string& component, const runtime::RunOptions& options,
                  const runtime::NamedBuffers& outputs) {
  for (const auto& path : options.taps) {
    auto& tapped = tapped_.at(component);
    auto& values = tapped.values[path];
    const Tensor value = context_.download(outputs.at(path));
    // Images leave as NCHW, like everything in files; other ranks as they are.
    values.push_back(value.rank() == 4 ? nhwc_to_nchw(value) : value);
    if (tapped.passes_left > 0) continue;
    tensor(component + "." + path, values.size() == 1 ? values[0] : concat(values, 0));
    tapped.values.erase(path);
  }
}

void RunLog::finish(PipelineOutput& output) {
  stage("");
  output.times = std::move(times_);
  output.warnings = std::move(warnings_);
}

void check_taps(const CallArguments& arguments, const std::vector<graph::Graph>& graphs) {
  for (const auto& path : arguments.taps) {
    if (!arguments.tensors)
      fail(ErrorKind::usage, "tap {}: nothing receives tensors; give a tensor dump too", quote(path));
    const auto dot = path.find('.');
    const auto name = path.substr(0, dot);
    std::vector<std::string> components, modules;
    for (const auto& graph : graphs) {
      components.push_back(graph.name);
      if (graph.name != name) continue;
      for (const auto& [module, value] : graph.module_outputs) modules.push_back(module);
    }
    if (std::find(components.begin(), components.end(), name) == components.end())
      fail(ErrorKind::usage, "tap {}: {}", quote(path),
           unknown_name("component of this run", name, components));
    const auto module = dot == std::string::npos ? std::string() : path.substr(dot + 1);
    if (std::find(modules.begin(), modules.end(), module) == modules.end())
      fail(ErrorKind::usage, "tap {}: {}", quote(path),
           unknown_name("module path of " + name, module, modules));
  }
}

}  // namespace perfuse
