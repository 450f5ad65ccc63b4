// Character sets of one byte a character, for undoing a decoding with the wrong one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace perfuse {

// Where a set leaves a byte open, it stands for the Latin-1 character, as in browsers. Windows' sets moreover write
// U+FFFD as the byte 0x1A ("substitute"), which keeps the place of a character that was lost before.
class SingleByteSet {
 public:
  enum class Kind { exact, windows };
  SingleByteSet(Kind kind, std::span<const char16_t, 128> upper_half);

  [[nodiscard]] char32_t decode(unsigned char byte) const {
    return byte < 0x80 ? byte : upper_half_[byte - 0x80u];
  }
  // The byte of a character, or nothing if the set lacks it.
  [[nodiscard]] std::optional<char> encode(char32_t c) const;
  // The bytes of a text, or nothing if the set lacks one of its characters.
  [[nodiscard]] std::optional<std::string> encode(std::u32string_view text) const;
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
  std::array<char16_t, 128> upper_half_;
  std::array<std::pair<char16_t, char>, 128> by_character_;
};

struct NamedSet {
  std::string_view name;
  SingleByteSet set;
};

// The sets that mojibake is tried with, likeliest first: Latin-1, Windows' 1252, 1251, 1250, 1253, 1254 and 1257,
// ISO 8859-2, MacRoman, code page 437.
[[nodiscard]] std::span<const NamedSet> mojibake_sets();
[[nodiscard]] const SingleByteSet& windows_1252();

}  // namespace perfuse
