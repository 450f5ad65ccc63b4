// The names that people give schedulers: diffusers' class names, and the short ones of other programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/core/json.h"

namespace perfuse {

struct NamedScheduler {
  std::string class_name;        // diffusers', perhaps of a class that perfuse lacks
  Json config = Json::object();  // the fields that the name implies
};

// "EulerDiscreteScheduler", "eulerdiscrete", "euler_discrete", "euler", "k_euler", "dpm++2m-karras", "DPM++ 2M SDE Karras",
// "dpmpp_2m": case, blanks, "-" and "_" don't count, a "k_" in front and "Scheduler" at the end may be there or not. A name
// that ends in "karras", "exponential" or "beta" is that of the front part with those sigmas. Nothing for any other.
[[nodiscard]] std::optional<NamedScheduler> scheduler_by_name(std::string_view name);

// The short names for classes among `classes`, as they are written in lists, by class.
struct SchedulerNames {
  std::string class_name;
  std::vector<std::string> names;
};
[[nodiscard]] std::vector<SchedulerNames> short_scheduler_names(const std::vector<std::string>& classes);

}  // namespace perfuse
