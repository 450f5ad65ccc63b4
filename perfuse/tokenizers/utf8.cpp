#include "perfuse/tokenizers/utf8.h"

namespace perfuse {

char32_t next_character(std::string_view text, std::size_t& at) {
  const std::size_t size = character_size(text[at]);
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  char32_t c = size == 1 ? byte(0) : byte(0) & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) c = (c << 6) | (byte(i) & 0x3fu);
  at += size;
  return c;
}

char32_t previous_character(std::string_view text, std::size_t& at) {
  do --at;
  while (is_continuation(text[at]));
  std::size_t start = at;
  return next_character(text, start);
}

std::u32string to_utf32(std::string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) result += next_character(text, at);
  return result;
}

std::string to_utf8(std::u32string_view text) {
  std::string result;
  for (char32_t c : text) {
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    constexpr unsigned kLead[] = {0, 0xc0, 0xe0, 0xf0};
    result += static_cast<char>(kLead[more] | (c >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) result += static_cast<char>(0x80u | ((c >> (6 * i)) & 0x3fu));
  }
  return result;
}

}  // namespace perfuse
