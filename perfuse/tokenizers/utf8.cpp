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

}  // namespace perfuse
