// Stepping through valid UTF-8 (see find_invalid_utf8), without bounds checks inside a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfuse {

// The character at byte `at`, which moves behind it.
[[nodiscard]] char32_t next_character(std::string_view text, std::size_t& at);
// The character that ends at byte `at`, which moves to its first byte.
[[nodiscard]] char32_t previous_character(std::string_view text, std::size_t& at);
// Bytes of the character that begins with `lead`.
[[nodiscard]] constexpr std::size_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}
// True for the second and later bytes of a character.
[[nodiscard]] constexpr bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80;
}

// The characters of valid UTF-8, and back; what is no character (a surrogate) becomes U+FFFD.
[[nodiscard]] std::u32string to_utf32(std::string_view text);
[[nodiscard]] std::string to_utf8(std::u32string_view text);

}  // namespace perfuse
