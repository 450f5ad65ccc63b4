// What `perfuse generate` says about a run when it is over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "apps/cli/run_options.h"
#include "perfuse/pipelines/diffusion_pipeline.h"

namespace perfuse::cli {

struct PeakMemory {
  std::uint64_t resident_bytes;  // of the whole process
  std::uint64_t device_bytes;    // as the backend counts
};
[[nodiscard]] PeakMemory peak_memory(const Device& device);

struct RunReport {
  std::vector<std::filesystem::path> files;
  RunOptions run;
  std::vector<StageTime> times;  // loading and saving included
  double seconds;                // of the whole call
  PeakMemory memory;
  std::uint64_t executables_compiled;
};

// --json
[[nodiscard]] Json report_json(const RunReport& report, const PipelineOutput& output);
[[nodiscard]] Json explain_json(const DiffusionPipeline& pipeline);
// --explain
[[nodiscard]] std::string explain_text(const DiffusionPipeline& pipeline, const RunReport& report);
// One line for people: "rocket.png: 128×128, seed 7, 2.1 s, 210 MB"
[[nodiscard]] std::string summary(const RunReport& report, const PipelineOutput& output);

}  // namespace perfuse::cli
