#include "perfuse/backends/pjrt/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <span>
#include <system_error>
#include <utility>

#include "perfuse/core/file.h"
#include "perfuse/core/sha256.h"
#include "perfuse/core/text.h"

namespace perfuse::pjrt {
namespace {

namespace fs = std::filesystem;
using abi::ErrorCode;
using abi::Slot;

constexpr std::size_t kMostMessageBytes = 1500;

// Without these nothing can be run; all other functions are used where they exist.
constexpr std::array kRequired{
    Slot::error_destroy,
    Slot::error_message,
    Slot::error_code,
    Slot::event_destroy,
    Slot::event_is_ready,
    Slot::event_error,
    Slot::event_await,
    Slot::client_create,
    Slot::client_destroy,
    Slot::client_platform_name,
    Slot::client_addressable_devices,
    Slot::client_compile,
    Slot::client_buffer_from_host,
    Slot::executable_destroy,
    Slot::executable_num_outputs,
    Slot::loaded_executable_destroy,
    Slot::loaded_executable_executable,
    Slot::loaded_executable_devices,
    Slot::loaded_executable_execute,
    Slot::buffer_destroy,
    Slot::buffer_is_deleted,
    Slot::buffer_to_host,
    Slot::buffer_ready_event,
};

struct Registry {
  std::mutex mutex;
  std::map<fs::path, std::shared_ptr<const Plugin>> plugins;
};
Registry& registry() {
  static Registry instance;
  return instance;
}

std::string_view name_of(ErrorCode code) {
  constexpr std::array<std::string_view, 17> kNames{
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "an unknown error";
}

ErrorKind kind_of(ErrorCode code, ErrorKind otherwise) {
  switch (code) {
    case ErrorCode::resource_exhausted: return ErrorKind::out_of_memory;
    case ErrorCode::unimplemented: return ErrorKind::unsupported;
    case ErrorCode::unavailable: return ErrorKind::device;
    default: return otherwise;
  }
}

// White space and control characters become single spaces.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, kMostMessageBytes)) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (text.size() > kMostMessageBytes) line += "…";
  return plain_or_quoted(line, kMostMessageBytes + 10);
}

// Takes plugins' own log off standard error, where perfuse writes one line for an error; a user's own
// setting stays. 3: fatal messages alone.
void quiet_log() { ::setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0); }

fs::path canonical_file(const fs::path& file) {
  std::error_code error;
  fs::path path = fs::canonical(file, error);
  if (error) fail(ErrorKind::io, "plugin {}: {}", display(file), error.message());
  if (!fs::is_regular_file(path, error))
    fail(ErrorKind::io, "plugin {}: not a file; expected a PJRT plugin (a shared library)", display(file));
  return path;
}

// A library that turns out to be no plugin stays loaded: what its constructors started may still run.
const abi::Api* open(const fs::path& path) {
  quiet_log();
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    fail(ErrorKind::unsupported, "plugin {}: can't be loaded: {}", display(path),
         one_line(reason != nullptr ? reason : "unknown reason"));
  }
  const auto get = reinterpret_cast<abi::GetApi>(::dlsym(handle, "GetPjrtApi"));
  if (get == nullptr)
    fail(ErrorKind::unsupported, "plugin {}: not a PJRT plugin: it has no function GetPjrtApi",
         display(path));
  const abi::Api* const api = get();
  if (api == nullptr) fail(ErrorKind::device, "plugin {}: GetPjrtApi gives nothing", display(path));
  return api;
}

NamedValue to_named_value(const abi::NamedValue& from) {
  NamedValue to{std::string(from.name, from.name_size), false};
  switch (from.kind) {
    case abi::ValueKind::string: to.value = std::string(from.value.string, from.value_size); break;
    case abi::ValueKind::int64: to.value = from.value.int64; break;
    case abi::ValueKind::int64_list:
      to.value = std::vector<std::int64_t>(from.value.int64_list, from.value.int64_list + from.value_size);
      break;
    case abi::ValueKind::float32: to.value = from.value.float32; break;
    case abi::ValueKind::boolean: to.value = from.value.boolean; break;
  }
  return to;
}

}  // namespace

std::shared_ptr<const Plugin> Plugin::load(const fs::path& file) {
  fs::path path = canonical_file(file);
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  auto& plugin = all.plugins[path];
  if (plugin) return plugin;
  const std::shared_ptr<const Plugin> fresh(new Plugin(path, open(path)));
  fresh->check();
  if (abi::PluginInitializeArgs arguments{}; fresh->has(arguments.kSlot))
    fresh->call(arguments, "initialising");
  plugin = fresh;
  return plugin;
}

bool Plugin::loaded(const fs::path& file) {
  const fs::path path = canonical_file(file);
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.plugins.find(path);
  return found != all.plugins.end() && found->second != nullptr;
}

void Plugin::check() const {
  const std::size_t size = api_->head.struct_size;
  if (size < sizeof(abi::Api))
    fail(ErrorKind::unsupported,
         "plugin {}: its function table has {} bytes, expected {} and more: too old, or no plugin",
         display(path_), size, sizeof(abi::Api));
  if (api_->version.major != 0)
    fail(ErrorKind::unsupported, "plugin {}: it speaks PJRT API {}.{}, perfuse speaks 0.x", display(path_),
         api_->version.major, api_->version.minor);
  for (const Slot slot : kRequired)
    if (!has(slot))
      fail(ErrorKind::unsupported,
           "plugin {}: too old: PJRT API 0.{}, whose function table of {} bytes lacks function {}",
           display(path_), api_->version.minor, size, static_cast<std::size_t>(slot));
}

abi::AnyFunction Plugin::function(Slot slot) const {
  const std::size_t offset = sizeof(abi::Api) + static_cast<std::size_t>(slot) * sizeof(abi::AnyFunction);
  if (offset + sizeof(abi::AnyFunction) > api_->head.struct_size) return nullptr;
  return *reinterpret_cast<const abi::AnyFunction*>(reinterpret_cast<const std::byte*>(api_) + offset);
}

std::optional<PluginFailure> Plugin::take(abi::Error* error) const {
  const auto call = [this](auto& arguments) {
    arguments.head.struct_size = sizeof(arguments);
    reinterpret_cast<abi::VoidFunction>(function(arguments.kSlot))(&arguments);
  };
  PluginFailure failure{ErrorCode::unknown, ""};
  abi::ErrorMessageArgs message{};
  message.error = error;
  call(message);
  failure.text = one_line({message.message, message.message_size});
  abi::ErrorCodeArgs code{};
  code.head.struct_size = sizeof(code);
  code.error = error;
  // An error about an error: the code stays unknown, and the second error is let go.
  if (reinterpret_cast<abi::Function>(function(code.kSlot))(&code) == nullptr) failure.code = code.code;
  abi::ErrorDestroyArgs destroy{};
  destroy.error = error;
  call(destroy);
  return failure;
}

void Plugin::fail_with(const PluginFailure& failure, std::string_view doing, ErrorKind otherwise) const {
  // Most plugins begin the text with the code's name.
  const auto name = name_of(failure.code);
  fail(kind_of(failure.code, otherwise), "plugin {}: {}: {}{}", display(path_), doing,
       failure.text.starts_with(name) ? "" : fmt::format("{}: ", name), failure.text);
}

std::vector<NamedValue> Plugin::attributes() const {
  abi::PluginAttributesArgs arguments{};
  if (attempt(arguments)) return {};
  std::vector<NamedValue> values;
  for (const auto& value : std::span(arguments.attributes, arguments.num_attributes))
    values.push_back(to_named_value(value));
  return values;
}

const std::string& Plugin::sha256() const {
  std::call_once(hashed_, [this] { sha256_ = sha256_hex_of_file(path_); });
  return sha256_;
}

}  // namespace perfuse::pjrt
