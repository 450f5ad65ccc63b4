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

runtime::RunOptions RunLog::options_for(const std::string& component) {
  runtime::RunOptions options{{}, arguments_.stop};
  if (!arguments_.tensors || std::find(tapped_.begin(), tapped_.end(), component) != tapped_.end())
    return options;
  tapped_.push_back(component);
  const std::string prefix = component + ".";
  for (const auto& path : arguments_.taps)
    if (path.starts_with(prefix)) options.taps.push_back(path.substr(prefix.size()));
  return options;
}

void RunLog::taps(const std::string& component, const runtime::RunOptions& options,
                  const runtime::NamedBuffers& outputs) const {
  for (const auto& path : options.taps) {
    const auto& value = outputs.at(path);
    // Images leave as NCHW, like everything in files; other ranks as they are.
    const std::string key = component + "." + path;
    if (value->type().rank() == 4)
      nhwc(key, value);
    else
      tensor(key, context_.download(value));
  }
}

void RunLog::finish(PipelineOutput& output) {
  stage("");
  output.times = std::move(times_);
  output.warnings = std::move(warnings_);
}

void check_taps(const CallArguments& arguments, const std::vector<std::string>& known) {
  for (const auto& path : arguments.taps) {
    const auto name = path.substr(0, path.find('.'));
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(ErrorKind::usage, "tap {}: {}", quote(path), unknown_name("component", name, known));
    if (!arguments.tensors)
      fail(ErrorKind::usage, "tap {}: nothing receives tensors; give a tensor dump too", quote(path));
  }
}

}  // namespace perfuse
