#include "perfuse/schedulers/scheduler_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace perfuse {
namespace {

struct ShortName {
  std::string_view name, class_name;
  // The one field that it implies beyond the class, if any: a string or (value empty) true.
  std::string_view field = {}, value = {};
};

constexpr std::string_view kMultistep = "DPMSolverMultistepScheduler";
constexpr std::string_view kSinglestep = "DPMSolverSinglestepScheduler";

// What diffusers' documentation, and the programs that people come from, call each class.
constexpr auto kShortNames = std::to_array<ShortName>({
    {"ddim", "DDIMScheduler"},
    {"ddpm", "DDPMScheduler"},
    {"deis", "DEISMultistepScheduler"},
    {"dpm++2m", kMultistep},
    {"dpm++2m-sde", kMultistep, "algorithm_type", "sde-dpmsolver++"},
    {"dpm++2s", kSinglestep},
    {"dpm++sde", "DPMSolverSDEScheduler"},
    {"dpm2", "KDPM2DiscreteScheduler"},
    {"dpm2-a", "KDPM2AncestralDiscreteScheduler"},
    {"edm-dpm++2m", "EDMDPMSolverMultistepScheduler"},
    {"edm-euler", "EDMEulerScheduler"},
    {"euler", "EulerDiscreteScheduler"},
    {"euler-a", "EulerAncestralDiscreteScheduler"},
    {"flow-euler", "FlowMatchEulerDiscreteScheduler"},
    {"flow-heun", "FlowMatchHeunDiscreteScheduler"},
    {"heun", "HeunDiscreteScheduler"},
    {"ipndm", "IPNDMScheduler"},
    {"lcm", "LCMScheduler"},
    {"lms", "LMSDiscreteScheduler"},
    {"pndm", "PNDMScheduler"},
    {"sa-solver", "SASolverScheduler"},
    {"tcd", "TCDScheduler"},
    {"unipc", "UniPCMultistepScheduler"},
});

struct Suffix {
  std::string_view end, field;
};
constexpr auto kSuffixes = std::to_array<Suffix>({{"karras", "use_karras_sigmas"},
                                                  {"exponential", "use_exponential_sigmas"},
                                                  {"beta", "use_beta_sigmas"}});

std::string normalized(std::string_view name) {
  std::string result;
  for (const char c : name)
    if (c != '_' && c != '-' && c != ' ')
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (const auto at = result.find("dpmpp"); at != std::string::npos) result.replace(at, 5, "dpm++");
  constexpr std::string_view kEnd = "scheduler";
  if (result.ends_with(kEnd)) result.resize(result.size() - kEnd.size());
  return result;
}

std::optional<NamedScheduler> find(const std::string& wanted) {
  for (const auto& entry : kShortNames) {
    if (normalized(entry.class_name) == wanted) return NamedScheduler{std::string(entry.class_name)};
    const std::string name = normalized(entry.name);
    const bool k_diffusion = wanted.starts_with('k') && std::string_view(wanted).substr(1) == name;
    if (name != wanted && !k_diffusion) continue;
    NamedScheduler result{std::string(entry.class_name)};
    if (!entry.field.empty())
      result.config[std::string(entry.field)] = entry.value.empty() ? Json(true) : Json(entry.value);
    return result;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NamedScheduler> scheduler_by_name(std::string_view name) {
  const std::string wanted = normalized(name);
  if (auto found = find(wanted)) return found;
  for (const auto& [end, field] : kSuffixes) {
    if (!wanted.ends_with(end)) continue;
    auto found = find(wanted.substr(0, wanted.size() - end.size()));
    if (!found) return std::nullopt;
    found->config[std::string(field)] = true;
    return found;
  }
  return std::nullopt;
}

std::vector<SchedulerNames> short_scheduler_names(const std::vector<std::string>& classes) {
  std::vector<SchedulerNames> result;
  for (const auto& class_name : classes) {
    SchedulerNames names{class_name, {}};
    for (const auto& entry : kShortNames)
      if (entry.class_name == class_name) names.names.emplace_back(entry.name);
    result.push_back(std::move(names));
  }
  return result;
}

}  // namespace perfuse
