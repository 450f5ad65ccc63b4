#include "perfuse/tokenizers/percent_encoding.h"

#include <unicode/unistr.h>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/html_unescape.h"

namespace perfuse {
namespace {

char32_t digit_at(std::string_view text, std::size_t at) {
  return at < text.size() ? digit_value(static_cast<unsigned char>(text[at])) : 16;
}

// ICU replaces wrong bytes the way Python does: one U+FFFD for the longest beginning of a character.
void append_bytes(const std::string& bytes, std::string& result) {
  icu::UnicodeString::fromUTF8(bytes).toUTF8String(result);
}

}  // namespace

std::string unquote_plus(std::string_view text) {
  if (const auto at = find_invalid_utf8(text))
    fail(ErrorKind::usage, "the prompt {} is not valid UTF-8 at byte {}; give it in UTF-8", quote(text), *at);
  std::string result, ascii;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80) {
      append_bytes(ascii, result);
      ascii.clear();
      result += text[i];
    } else if (text[i] == '%' && digit_at(text, i + 1) < 16 && digit_at(text, i + 2) < 16) {
      ascii += static_cast<char>(digit_at(text, i + 1) * 16 + digit_at(text, i + 2));
      i += 2;
    } else {
      ascii += text[i] == '+' ? ' ' : text[i];
    }
  }
  append_bytes(ascii, result);
  return result;
}

}  // namespace perfuse
