#include "apps/cli/report.h"

#include <fmt/format.h>

#include <sstream>

#include "apps/cli/metadata.h"
#include "perfuse/core/text.h"
#include "perfuse/runtime/backend.h"
#include "perfuse/runtime/host_memory.h"

namespace perfuse::cli {
namespace {

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "    " + line + '\n';
  return result;
}

std::string stage_times(const RunReport& report) {
  std::string line;
  for (const auto& [stage, seconds] : report.times)
    line += fmt::format("{}{} {:.2f} s", line.empty() ? "" : ", ", stage, seconds);
  return line;
}

}  // namespace

PeakMemory peak_memory(const Device& device) {
  return {runtime::peak_resident_memory(), runtime::backend_for(device)->memory_stats().peak};
}

Json report_json(const RunReport& report, const PipelineOutput& output) {
  Json files = Json::array();
  for (const auto& file : report.files) files.push_back(file.string());
  Json seconds = Json::object();
  for (const auto& [stage, time] : report.times) seconds[stage] = time;
  seconds["total"] = report.seconds;
  return {{"files", files},
          {"settings", output.settings},
          {"run", to_json(report.run)},
          {"seconds", seconds},
          {"peak_memory",
           {{"resident_bytes", report.memory.resident_bytes}, {"device_bytes", report.memory.device_bytes}}},
          {"executables_compiled", report.executables_compiled},
          {"host_actions", output.host_actions},
          {"warnings", output.warnings}};
}

Json explain_json(const DiffusionPipeline& pipeline) {
  Json components = Json::array();
  for (const auto& c : pipeline.report())
    components.push_back({{"component", c.name},
                          {"device", to_string(c.device)},
                          {"dtype", to_string(c.dtype)},
                          {"segments", c.segments},
                          {"distinct_executables", c.distinct_executables},
                          {"parameter_bytes", c.parameter_bytes},
                          {"value_bytes", c.value_bytes},
                          {"scratch_bytes", c.scratch_bytes},
                          {"kernels", c.kernels}});
  return components;
}

std::string explain_text(const DiffusionPipeline& pipeline, const RunReport& report) {
  std::string text = fmt::format("{} on {}, arithmetic in {}\n", pipeline.class_name(),
                                 to_string(pipeline.device()), to_string(pipeline.dtype()));
  const Json run = to_json(report.run);
  for (const auto& [name, value] : run.items())
    text += fmt::format("  {}: {}\n", name, value.is_string() ? value.get<std::string>() : dump_json(value));
  for (const auto& c : pipeline.report()) {
    text += fmt::format("{} on {} in {}: {} segment{}, {} executable{}\n", c.name, to_string(c.device),
                        to_string(c.dtype), c.segments, c.segments == 1 ? "" : "s", c.distinct_executables,
                        c.distinct_executables == 1 ? "" : "s");
    text += fmt::format("  memory: parameters {}, values between segments {}, scratch {}\n",
                        format_bytes(c.parameter_bytes), format_bytes(c.value_bytes),
                        format_bytes(c.scratch_bytes));
    if (!c.kernels.empty()) text += "  kernels:\n" + indented(c.kernels);
  }
  return text + fmt::format("times: {}\npeak memory: {} resident, {} counted by the backend\n",
                            stage_times(report), format_bytes(report.memory.resident_bytes),
                            format_bytes(report.memory.device_bytes));
}

std::string summary(const RunReport& report, const PipelineOutput& output) {
  std::string line = report.files.size() == 1
                         ? (report.files.front() == "-" ? "standard output" : report.files.front().string())
                         : fmt::format("{} pictures", report.files.size());
  if (!output.images.empty())
    line += fmt::format(": {}×{}", output.images.front().width(), output.images.front().height());
  if (const auto seed = output.settings.find("seed"); seed != output.settings.end())
    line += fmt::format(", seed {}", brief(*seed));
  return line +
         fmt::format(", {:.1f} s, {} of memory", report.seconds, format_bytes(report.memory.resident_bytes));
}

}  // namespace perfuse::cli
