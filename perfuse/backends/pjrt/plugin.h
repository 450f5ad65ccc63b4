// A PJRT plugin: a shared library that compiles and runs programs on one family of devices.
//
// A function exists where the plugin's table reaches that far and has no null there; nothing else is concluded from
// versions, and no attribute is needed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/backends/pjrt/pjrt_abi.h"
#include "perfuse/core/error.h"
#include "perfuse/runtime/named_value.h"

namespace perfuse::pjrt {

// What a plugin says of a call that failed.
struct PluginFailure {
  abi::ErrorCode code;
  std::string text;  // one line
};

class Plugin {
 public:
  // The one Plugin of this file in this process: loaded and initialised at the first call, never unloaded.
  // Error(io) where there is no such file, Error(unsupported) where it is no plugin or has another ABI,
  // Error(device) where it refuses to start.
  [[nodiscard]] static std::shared_ptr<const Plugin> load(const std::filesystem::path& file);
  // True once load() has succeeded for that file.
  [[nodiscard]] static bool loaded(const std::filesystem::path& file);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  // canonical
  [[nodiscard]] int minor_version() const { return api_->version.minor; }    // of API 0.x
  // xla_version, stablehlo_current_version, …; empty where the plugin tells none.
  [[nodiscard]] std::vector<NamedValue> attributes() const;
  // Of the plugin's file, computed at the first call.
  [[nodiscard]] const std::string& sha256() const;

  [[nodiscard]] bool has(abi::Slot slot) const { return function(slot) != nullptr; }

  // Calls the function that `arguments` belongs to, with its size filled in. Nothing: it succeeded. An absent
  // function fails with `unimplemented`.
  template <class Arguments> [[nodiscard]] std::optional<PluginFailure> attempt(Arguments& arguments) const;
  // The same; a failure becomes "PLUGIN: DOING: the plugin's text", of the kind that the code has, or else `otherwise`.
  template <class Arguments>
  void call(Arguments& arguments, std::string_view doing, ErrorKind otherwise = ErrorKind::device) const;
  [[noreturn]] void fail_with(const PluginFailure& failure, std::string_view doing,
                              ErrorKind otherwise) const;

 private:
  Plugin(std::filesystem::path path, const abi::Api* api) : path_(std::move(path)), api_(api) {}
  void check() const;
  [[nodiscard]] abi::AnyFunction function(abi::Slot slot) const;
  // Turns the error into text and destroys it.
  [[nodiscard]] std::optional<PluginFailure> take(abi::Error* error) const;

  std::filesystem::path path_;
  const abi::Api* api_;
  mutable std::once_flag hashed_;
  mutable std::string sha256_;
};

template <class Arguments> std::optional<PluginFailure> Plugin::attempt(Arguments& arguments) const {
  const auto target = reinterpret_cast<abi::Function>(function(Arguments::kSlot));
  if (target == nullptr)
    return PluginFailure{abi::ErrorCode::unimplemented, "this plugin's API is too old for that"};
  // Room behind the struct: a newer plugin may fill in fields that are not known here.
  struct {
    Arguments arguments;
    std::byte room[64];
  } copy{arguments, {}};
  copy.arguments.head.struct_size = sizeof(Arguments);
  abi::Error* const error = target(&copy);
  arguments = copy.arguments;
  return error == nullptr ? std::nullopt : take(error);
}

template <class Arguments>
void Plugin::call(Arguments& arguments, std::string_view doing, ErrorKind otherwise) const {
  if (const auto failure = attempt(arguments)) fail_with(*failure, doing, otherwise);
}

}  // namespace perfuse::pjrt
