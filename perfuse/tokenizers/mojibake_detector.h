// Signs of mojibake: text that was written in one character set and read in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace perfuse {

// What a character is to the rules below: one bit each, see mojibake_detector.cpp.
using CharacterClasses = std::uint32_t;
[[nodiscard]] CharacterClasses character_classes(char32_t c);

// True if some characters stand side by side that hardly do so in any language, but do in mojibake. The rules are
// ftfy's (ftfy.badness).
[[nodiscard]] bool looks_like_mojibake(std::u32string_view text);

struct TextRange {
  std::size_t begin, end;
};
// Runs of characters that are UTF-8 when each is one byte of some character set (ftfy's UTF8_DETECTOR_RE), in order.
[[nodiscard]] std::vector<TextRange> utf8_lookalikes(std::u32string_view text);

}  // namespace perfuse
