#include "apps/cli/run_options.h"

#include <array>
#include <utility>

#include "apps/cli/request_values.h"

namespace perfuse::cli {
namespace {

constexpr std::array<std::pair<const char*, std::optional<std::string> RunOptions::*>, 6> kTexts{{
    {"model", &RunOptions::model},
    {"device", &RunOptions::device},
    {"dtype", &RunOptions::dtype},
    {"granularity", &RunOptions::granularity},
    {"cfg", &RunOptions::cfg},
    {"variant", &RunOptions::variant},
}};

}  // namespace

RunOptions overlay(RunOptions base, const RunOptions& over) {
  for (const auto& [name, member] : kTexts)
    if (over.*member) base.*member = over.*member;
  if (over.threads) base.threads = over.threads;
  return base;
}

Json to_json(const RunOptions& options) {
  Json json = Json::object();
  for (const auto& [name, member] : kTexts)
    if (options.*member) json[name] = *(options.*member);
  if (options.threads) json["threads"] = *options.threads;
  return json;
}

RunOptions read_run_options(const Json& json, const std::string& origin) {
  RunOptions options;
  if (!json.is_object()) Place{origin, "run"}.expected("an object", json);
  for (const auto& [name, member] : kTexts)
    if (const auto found = json.find(name); found != json.end())
      read_value(*found, Place{origin, name}, (options.*member).emplace());
  if (const auto found = json.find("threads"); found != json.end())
    read_value(*found, Place{origin, "threads"}, options.threads.emplace());
  return options;
}

}  // namespace perfuse::cli
