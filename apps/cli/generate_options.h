#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/request.h"
#include "apps/cli/run_options.h"
#include "perfuse/pipelines/diffusion_pipeline.h"

namespace CLI {
class App;
}

namespace perfuse::cli {

// What the command line of `perfuse generate` says.
struct GenerateOptions {
  Request request;
  RunOptions run;
  std::string prompt_file, request_file, like, dump_tensors;
  std::vector<std::string> taps;
  bool json = false, explain = false, quiet = false, verbose = false;
  std::optional<bool> show;  // default: on a terminal
};

// Adds the options; they write into `options`, which must live as long as `command`.
void add_generate_options(CLI::App& command, GenerateOptions& options);

// Error(usage) naming the option where a text is no device, type, …
[[nodiscard]] LoadOptions to_load_options(const RunOptions& run);
[[nodiscard]] CfgMode to_cfg_mode(const RunOptions& run);

// A pipeline's message "num_inference_steps: …" as one about "--steps", where `given` has it from the command line.
[[nodiscard]] std::string with_option_name(const std::string& message, const Request& given);

}  // namespace perfuse::cli
