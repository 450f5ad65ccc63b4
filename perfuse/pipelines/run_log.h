// One call's bookkeeping: stage times, progress, tensors for whoever asked, warnings.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "perfuse/pipelines/arguments.h"
#include "perfuse/runtime/module.h"

namespace perfuse {

class RunLog {
 public:
  RunLog(const CallArguments& arguments, runtime::DeviceContext& context)
      : arguments_(arguments), context_(context) {}

  // Ends the stage before, begins this one.
  void stage(std::string name);
  void progress(int done, int total) const;
  // To the log and to the output.
  void warn(const std::string& message);

  [[nodiscard]] bool wants_tensors() const { return static_cast<bool>(arguments_.tensors); }
  void tensor(const std::string& key, const Tensor& value) const;
  // Downloads only if asked for. NHWC values are handed on as NCHW.
  void nhwc(const std::string& key, const runtime::BufferPtr& value) const;

  // The taps under this component's name, and the options to run it with. Taps are taken at the first run; where that
  // is a pair (`passes` 2: negative, then positive), at both, and joined along the batch as one run would give them.
  [[nodiscard]] runtime::RunOptions options_for(const std::string& component, int passes = 1);
  void taps(const std::string& component, const runtime::RunOptions& options,
            const runtime::NamedBuffers& outputs);

  // Ends the last stage and fills in the output's times and warnings.
  void finish(PipelineOutput& output);

 private:
  using Clock = std::chrono::steady_clock;
  const CallArguments& arguments_;
  runtime::DeviceContext& context_;
  std::string stage_;
  Clock::time_point started_;
  std::vector<StageTime> times_;
  std::vector<std::string> warnings_;
  struct Tapped {
    int passes_left;
    std::map<std::string, std::vector<Tensor>> values;  // by path, one for each pass
  };
  std::map<std::string, Tapped> tapped_;  // by component
};

// Error(usage) for a tap that names no module of these graphs, those of the components that will run.
void check_taps(const CallArguments& arguments, const std::vector<graph::Graph>& graphs);

}  // namespace perfuse
