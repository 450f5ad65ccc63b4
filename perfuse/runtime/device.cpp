#include "perfuse/runtime/device.h"

#include <charconv>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/runtime/traits.h"

namespace perfuse {

std::string_view to_string(DeviceKind kind) { return runtime::traits(kind).name; }

Device::Device(std::string_view text) {
  const auto colon = text.find(':');
  const auto name = text.substr(0, colon);
  std::vector<std::string> known;
  bool found = false;
  for (const auto& row : runtime::all_traits()) {
    known.emplace_back(row.name);
    if (row.name != name) continue;
    kind_ = row.kind;
    found = true;
  }
  if (!found) fail(ErrorKind::usage, "device {}: {}", quote(text), unknown_name("device kind", name, known));
  if (colon == std::string_view::npos) return;
  const auto digits = text.substr(colon + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index_);
  if (code != std::errc{} || end != digits.data() + digits.size() || index_ < 0 || index_ > 4095)
    fail(ErrorKind::usage, "device {}: expected KIND or KIND:INDEX with an index from 0 to 4095",
         quote(text));
  if (kind_ == DeviceKind::cpu && index_ != 0)
    fail(ErrorKind::usage, "device {}: there is only one cpu", quote(text));
}

std::string to_string(const Device& device) {
  if (device.kind() == DeviceKind::cpu) return "cpu";
  return fmt::format("{}:{}", to_string(device.kind()), device.index());
}

}  // namespace perfuse
