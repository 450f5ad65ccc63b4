// Character references of HTML as Python's html.unescape resolves them.
#pragma once

#include <string>
#include <string_view>

namespace perfuse {

// Every reference in the text becomes its character: numbers with or without a semicolon, names with one, and the
// names that HTML 5 takes without one even where letters follow ("&copyright" is ©right). The rest stays.
[[nodiscard]] std::u32string html_unescape(std::u32string_view text);

// The digits' value, but no more than 0x110000, which is no character.
[[nodiscard]] char32_t parse_code_point(std::u32string_view digits, char32_t base);

// The value of a digit; 16 for any other character.
[[nodiscard]] char32_t digit_value(char32_t c);

}  // namespace perfuse
