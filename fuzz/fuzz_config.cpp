// Any text given to parse_json is read, or refused with Error(model) in a short line; what was read is
// the same after being written and read again, and a ConfigReader gives each field or refuses it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/core/log.h"

namespace {

using perfuse::ConfigReader;
using perfuse::Json;

void check(const perfuse::Error& error) {
  const std::string_view message = error.what();
  const bool kind_fits =
      error.kind() == perfuse::ErrorKind::model || error.kind() == perfuse::ErrorKind::unsupported;
  if (!kind_fits || message.find('\n') != std::string_view::npos) std::abort();
}

template <class Call> void refused_or_read(const Call& call) {
  try {
    call();
  } catch (const perfuse::Error& error) {
    check(error);
  }
}

bool all_finite(const Json& json) {
  if (json.is_number_float()) return json.dump() != "null";
  for (const auto& entry : json)
    if (json.is_structured() && !all_finite(entry)) return false;
  return true;
}

void read_fields(const ConfigReader& config, int levels) {
  for (const auto& item : config.json().items()) {
    const std::string& key = item.key();
    refused_or_read([&] { static_cast<void>(config.integer(key, 1, 10'000)); });
    refused_or_read([&] { static_cast<void>(config.integer(key, INT64_MIN, INT64_MAX, 0)); });
    refused_or_read([&] { static_cast<void>(config.number(key)); });
    refused_or_read([&] { static_cast<void>(config.number(key, 1.0, true)); });
    refused_or_read([&] { static_cast<void>(config.boolean(key)); });
    refused_or_read([&] { static_cast<void>(config.string(key)); });
    refused_or_read([&] { static_cast<void>(config.choice(key, {"silu", "gelu"})); });
    refused_or_read([&] { static_cast<void>(config.integers(key, 0, 100)); });
    refused_or_read([&] { static_cast<void>(config.numbers(key)); });
    refused_or_read([&] { static_cast<void>(config.strings(key)); });
    if (levels > 0) refused_or_read([&] { read_fields(config.object(key), levels - 1); });
  }
  refused_or_read([&] { config.refuse_unless("a", {1, "b"}, "why"); });
  config.report_unread();  // says nothing: all were asked for
}

// Whatever is said ends the run.
const bool silent = [] {
  perfuse::log::set_level(perfuse::log::Level::debug);
  perfuse::log::set_sink([](perfuse::log::Level, std::string_view) { std::abort(); });
  return true;
}();

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refused_or_read([&] {
    const Json json = perfuse::parse_json({reinterpret_cast<const char*>(data), size}, "input");
    if (perfuse::brief(json).size() > 240) std::abort();
    if (all_finite(json) && perfuse::parse_json(json.dump(), "again") != json) std::abort();
    read_fields(ConfigReader(json, "input"), 3);
  });
  return 0;
}
