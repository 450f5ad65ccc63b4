#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfuse {

// The bytes of base64 text (the standard alphabet, padded to a multiple of four), or nothing if it is not that.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace perfuse
