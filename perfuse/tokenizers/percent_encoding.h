// The escapes of a URL's query.
#pragma once

#include <string>
#include <string_view>

namespace perfuse {

// What Python's urllib.parse.unquote_plus gives: + is a space, %41 a byte. Escaped bytes that aren't UTF-8 become
// U+FFFD, and characters around them are no part of theirs.
// Error(usage) with the position for invalid UTF-8 in `text` itself.
[[nodiscard]] std::string unquote_plus(std::string_view text);

}  // namespace perfuse
