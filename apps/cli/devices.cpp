// perfuse devices: every kind that perfuse knows, what is there, and what is missing.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/metadata.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"
#include "perfuse/runtime/backend.h"
#include "perfuse/runtime/traits.h"

namespace perfuse::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  perfuse devices
  perfuse devices --json)";

struct Finding {
  const runtime::DeviceTraits& traits;
  bool backend;
  runtime::Presence package, device;
  int count;

  [[nodiscard]] bool usable() const { return backend && package.yes && device.yes; }
  [[nodiscard]] std::string reason() const {
    if (!backend) return fmt::format("this build has no {} backend", traits.backend);
    if (!package.yes) return "no package: " + package.detail;
    return device.yes ? "" : "no device: " + device.detail;
  }
};

Finding look_at(const runtime::DeviceTraits& traits) {
  Finding finding{traits, runtime::backend_registered(traits.backend), traits.package_installed(),
                  traits.device_present(), 0};
  if (finding.device.yes) finding.count = traits.device_count();
  return finding;
}

std::string types_of(const runtime::DeviceTraits& traits) {
  std::string names;
  for (const auto& [type, replacement] : traits.types)
    if (type == replacement) names += fmt::format("{}{}", names.empty() ? "" : " ", to_string(type));
  return names;
}

std::string as_text(const Finding& f) {
  const auto yes_or_no = [](const runtime::Presence& p) {
    return fmt::format("{}{}", p.yes ? "yes" : "no", p.detail.empty() ? "" : ", " + p.detail);
  };
  return fmt::format(
      "{:8}{}\n        package {}\n        device  {}\n        types   {}; default {}\n", f.traits.name,
      f.usable() ? fmt::format("usable, {} device{}", f.count, f.count == 1 ? "" : "s")
                 : "not usable: " + f.reason(),
      yes_or_no(f.package), yes_or_no(f.device), types_of(f.traits), to_string(f.traits.default_dtype));
}

Json as_json(const Finding& f) {
  Json types = Json::array();
  for (const auto& [type, replacement] : f.traits.types)
    if (type == replacement) types.push_back(to_string(type));
  return {{"kind", f.traits.name},
          {"vendor", f.traits.vendor},
          {"usable", f.usable()},
          {"reason", f.reason()},
          {"backend", f.traits.backend},
          {"backend_in_build", f.backend},
          {"package", {{"installed", f.package.yes}, {"detail", f.package.detail}}},
          {"device", {{"present", f.device.yes}, {"detail", f.device.detail}}},
          {"count", f.count},
          {"types", types},
          {"default_dtype", to_string(f.traits.default_dtype)}};
}

int devices(bool json) {
  std::string text;
  Json list = Json::array();
  for (const auto& traits : runtime::all_traits()) {
    const Finding finding = look_at(traits);
    if (json)
      list.push_back(as_json(finding));
    else
      text += as_text(finding);
  }
  write_standard_output(json ? dump_json({{"devices", list}}) + '\n' : text);
  return 0;
}

}  // namespace

Command add_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = add_command(app, "devices", "List device kinds, and what each lacks here", kExamples);
  command->add_flag("--json", *json, "One line of JSON");
  return {command, [json] { return devices(*json); }};
}

}  // namespace perfuse::cli
