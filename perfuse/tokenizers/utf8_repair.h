// Bytes that were UTF-8 once, before something between was made a space, lost or written in a variant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perfuse {

// Where a space would complete UTF-8 if it were the byte 0xA0, a no-break space, it becomes one.
[[nodiscard]] std::string restore_byte_a0(std::string_view bytes);

// Sequences whose bytes were in part replaced by 0x1A, or by one ?, become U+FFFD's.
[[nodiscard]] std::string replace_lossy_sequences(std::string_view bytes);

// The text of the bytes, or nothing if they aren't UTF-8. Surrogate pairs of three bytes each (CESU-8) and a null
// of two bytes (Java) are taken too.
[[nodiscard]] std::optional<std::u32string> decode_utf8_variants(std::string_view bytes);

}  // namespace perfuse
