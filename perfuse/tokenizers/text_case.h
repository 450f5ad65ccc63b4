#pragma once

#include <string>
#include <string_view>

namespace perfuse {

// Python's text.lower().strip(): Unicode's full lower-casing (a final Σ becomes ς, İ becomes i and a dot
// above), then white space off both ends, among it U+001C to U+001F, which Python counts as such.
// Error(usage) with the position for invalid UTF-8.
[[nodiscard]] std::string lower_and_strip(std::string_view text);

}  // namespace perfuse
