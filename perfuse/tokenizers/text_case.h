#pragma once

#include <string>
#include <string_view>

namespace perfuse {

// Python's text.lower().strip(): Unicode's full lower-casing (a final Σ becomes ς, İ becomes i and a dot
// above), then white space off both ends, among it U+001C to U+001F, which Python counts as such.
// Error(usage) with the position for invalid UTF-8.
[[nodiscard]] std::string lower_and_strip(std::string_view text);

// Python's text.strip(), for valid UTF-8.
[[nodiscard]] std::string_view strip(std::string_view text);

// What Python's str.isspace() and the \s of its regular expressions mean.
[[nodiscard]] bool is_python_space(char32_t c);

}  // namespace perfuse
