// The extent of a start tag as Python's html.parser sees it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace perfuse {

struct StartTag {
  enum class Kind { open, self_closing, broken };
  Kind kind = Kind::broken;  // broken: up to `end` it is text after all
  std::u32string name;       // ASCII in lower case
  std::size_t end = 0;       // behind the tag
};

// The tag at `at`, where "<" and an ASCII letter stand; nothing if the text ends before the tag does.
[[nodiscard]] std::optional<StartTag> read_start_tag(std::u32string_view html, std::size_t at);

// The tag's name at `at`, an ASCII letter, up to a white space, / or >.
[[nodiscard]] std::u32string read_tag_name(std::u32string_view html, std::size_t at);

[[nodiscard]] constexpr bool is_ascii_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace perfuse
