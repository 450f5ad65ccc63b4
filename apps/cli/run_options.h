// How a picture is made, apart from what it shows: as the command line says it and a picture records it.
#pragma once

#include <optional>
#include <string>

#include "perfuse/core/json.h"

namespace perfuse::cli {

struct RunOptions {
  std::optional<std::string> model, device, dtype, granularity, cfg, variant;
  std::optional<int> threads;
};

// `over` where it is set, else `base`.
[[nodiscard]] RunOptions overlay(RunOptions base, const RunOptions& over);
[[nodiscard]] Json to_json(const RunOptions& options);
// Error(usage) for wrong types; unknown fields are ignored, a later version may have more.
[[nodiscard]] RunOptions read_run_options(const Json& json, const std::string& origin);

}  // namespace perfuse::cli
