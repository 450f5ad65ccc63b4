#include "perfuse/schedulers/scheduler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"
#include "perfuse/schedulers/dpmsolver_multistep.h"
#include "perfuse/schedulers/euler_discrete.h"
#include "perfuse/schedulers/scheduler_names.h"

namespace perfuse {
namespace {

struct SchedulerClass {
  std::string_view name;
  Json (*defaults)();
  std::unique_ptr<Scheduler> (*make)(const ConfigReader& config);
};

template <class T> constexpr SchedulerClass entry() {
  return {T::kClassName, T::defaults, [](const ConfigReader& config) -> std::unique_ptr<Scheduler> {
            return std::make_unique<T>(config);
          }};
}

// By name. A new scheduler is one line here.
constexpr std::array kClasses = {
    entry<DPMSolverMultistepScheduler>(),
    entry<EulerDiscreteScheduler>(),
};

// Fields of diffusers' scheduler classes that are not in kClasses: a configuration that was saved by one class
// and read by another has them, and they are no mistake.
// clang-format off
constexpr auto kForeignFields = std::to_array<std::string_view>({
    "base_image_seq_len", "base_shift", "clip_sample", "clip_sample_range", "correct_steps",
    "corrector_order", "disable_corrector", "eta", "final_step_size_scale", "gamma", "invert_sigmas",
    "max_image_seq_len", "max_shift", "noise_sampler_seed", "original_inference_steps", "predict_x0",
    "predictor_order", "rho", "s_noise", "sampling_eps", "scaler", "scheduler_type", "set_alpha_to_one",
    "shift", "shift_terminal", "sigma_data", "sigma_schedule", "skip_prk_steps", "snr", "snr_shift_scale",
    "solver_p", "stage_range", "stages", "stochastic_sampling", "tau_func", "timestep_scaling"});
// clang-format on

const SchedulerClass* find_class(std::string_view class_name) {
  const auto* found = std::ranges::find(kClasses, class_name, &SchedulerClass::name);
  return found == kClasses.end() ? nullptr : &*found;
}

// What --scheduler may be told, for a message: the classes, each with its short names.
std::string known_schedulers() {
  std::vector<std::string> texts;
  for (const auto& [class_name, names] : short_scheduler_names(scheduler_names()))
    texts.push_back(names.empty() ? class_name : fmt::format("{} ({})", class_name, fmt::join(names, ", ")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

struct Choice {
  const SchedulerClass& entry;
  Json config;  // that the name implies
};

Choice choose(const ConfigReader& config, const std::string& name) {
  if (name.empty()) {
    const std::string own = config.string("_class_name");
    if (const SchedulerClass* found = find_class(own)) return {*found, Json::object()};
    fail(ErrorKind::unsupported, "{}: _class_name: perfuse has no scheduler {}; choose another: {}",
         config.origin(), quote(own), known_schedulers());
  }
  if (const SchedulerClass* found = find_class(name)) return {*found, Json::object()};
  if (const auto named = scheduler_by_name(name)) {
    if (const SchedulerClass* found = find_class(named->class_name)) return {*found, named->config};
    fail(ErrorKind::usage, "scheduler: perfuse has no {} yet; known: {}",
         named->class_name == name ? name : fmt::format("{} ({})", named->class_name, name),
         known_schedulers());
  }
  std::vector<std::string> names = scheduler_names();
  for (const auto& [class_name, short_names] : short_scheduler_names(scheduler_names()))
    names.insert(names.end(), short_names.begin(), short_names.end());
  fail(ErrorKind::usage, "{}", unknown_name("scheduler", name, names));
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& field : object.items()) keys.push_back(field.key());
  return keys;
}

void check_overrides(const Json& overrides, const SchedulerClass& entry, const Json& defaults) {
  if (!overrides.is_object())
    fail(ErrorKind::usage, "scheduler: expected an object of configuration fields, got {}", brief(overrides));
  for (const auto& field : overrides.items())
    if (!defaults.contains(field.key()))
      fail(ErrorKind::usage, "{}: {}", entry.name,
           unknown_name("configuration field", field.key(), keys_of(defaults)));
}

// The file's fields over the class's defaults, then the overrides. A null means the default. What diffusers
// lists in _use_default_values was no choice of the one who saved the file, so the class takes its own default.
Json merged_config(const SchedulerClass& entry, const Json& defaults, const Json& file,
                   const Json& overrides) {
  Json merged = {{"_class_name", std::string(entry.name)}};
  for (const auto& field : defaults.items()) merged[field.key()] = field.value();
  const auto listed = file.find("_use_default_values");
  const auto left_at_default = [&](const std::string& key) {
    return listed != file.end() && listed->is_array() &&
           std::ranges::find(*listed, Json(key)) != listed->end();
  };
  for (const auto& field : file.items()) {
    const std::string& key = field.key();
    if (key == "_class_name" || key == "_use_default_values" || left_at_default(key)) continue;
    if (field.value().is_null() && defaults.contains(key)) continue;
    merged[key] = field.value();
  }
  for (const auto& field : overrides.items())
    merged[field.key()] = field.value().is_null() ? defaults.at(field.key()) : field.value();
  return merged;
}

void report_unread_fields(const ConfigReader& config, const SchedulerClass& entry) {
  std::vector<std::string> unknown, idle;
  const Json own = entry.defaults();
  for (const std::string& key : keys_of(config.json())) {
    if (key.starts_with('_') || own.contains(key) || key == "sigma_min" || key == "sigma_max") continue;
    const bool known = std::ranges::find(kForeignFields, key) != kForeignFields.end() ||
                       std::ranges::any_of(kClasses, [&](const SchedulerClass& other) {
                         return other.defaults().contains(key);
                       });
    (known ? idle : unknown).push_back(known ? key : quote(key));
  }
  if (!idle.empty())
    log::debug("{}: carried for other schedulers, without effect on {}: {}", config.origin(), entry.name,
               fmt::join(idle, ", "));
  if (!unknown.empty())
    log::warning("{}: no scheduler knows {}; {} goes on without", config.origin(), fmt::join(unknown, ", "),
                 entry.name);
}

}  // namespace

double Scheduler::model_input_scale(int /*index*/) const { return 1.0; }

std::vector<std::string> scheduler_names() {
  std::vector<std::string> names;
  names.reserve(kClasses.size());
  for (const SchedulerClass& entry : kClasses) names.emplace_back(entry.name);
  return names;
}

bool has_scheduler(std::string_view class_name) { return find_class(class_name) != nullptr; }

std::unique_ptr<Scheduler> make_scheduler(const ConfigReader& config, const std::string& name,
                                          const Json& overrides) {
  const auto [entry, implied] = choose(config, name);
  const Json defaults = entry.defaults();
  check_overrides(overrides, entry, defaults);
  for (const auto& field : implied.items())
    if (!defaults.contains(field.key()))
      fail(ErrorKind::usage, "scheduler: {}: {} has no {}", name, entry.name, field.key());
  Json changes = implied;
  changes.update(overrides);
  const auto make = [&, &entry = entry](const Json& fields) {
    return entry.make(ConfigReader(merged_config(entry, defaults, config.json(), fields), config.origin()));
  };
  std::unique_ptr<Scheduler> scheduler;
  try {
    scheduler = make(changes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model || changes.empty()) throw;
    (void)make(Json::object());  // where the file alone is wrong too, this says so
    fail(ErrorKind::usage, "{} (with scheduler fields {})", error.what(), brief(changes));
  }
  report_unread_fields(config, entry);
  return scheduler;
}

}  // namespace perfuse
