#include "perfuse/tokenizers/html_unescape.h"

#include <algorithm>

#include "perfuse/tokenizers/html_entities.h"
#include "perfuse/tokenizers/single_byte_set.h"

namespace perfuse {
namespace {

constexpr std::size_t kLongestReference = 32;

// Code points that HTML forbids, and that Python drops.
bool is_dropped(char32_t c) {
  return (c >= 1 && c <= 8) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || (c >= 0x7f && c <= 0x9f) ||
         (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffeu) == 0xfffe;
}

void append_number(char32_t c, std::u32string& result) {
  if (c >= 0x80 && c <= 0x9f)
    result += windows_1252().decode(static_cast<unsigned char>(c));
  else if (c == 0 || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
    result += U'\ufffd';
  else if (!is_dropped(c))
    result += c;
}

// `at` is behind "&#". False, with nothing done, if no number follows.
bool unescape_number(std::u32string_view text, std::size_t& at, std::u32string& result) {
  const bool hex = at < text.size() && (text[at] == 'x' || text[at] == 'X');
  const char32_t base = hex ? 16 : 10;
  const std::size_t begin = at + (hex ? 1 : 0);
  std::size_t end = begin;
  while (end < text.size() && digit_value(text[end]) < base) ++end;
  if (end == begin) return false;
  append_number(parse_code_point(text.substr(begin, end - begin), base), result);
  at = end + (end < text.size() && text[end] == ';' ? 1 : 0);
  return true;
}

void append_entity(const HtmlEntity& entity, std::u32string& result) {
  result += entity.first;
  if (entity.second != 0) result += entity.second;
}

// `at` is behind the &. False, with nothing done, if no known name follows.
bool unescape_name(std::u32string_view text, std::size_t& at, std::u32string& result) {
  std::size_t size = text.substr(at, kLongestReference).find_first_of(U"\t\n\f <&#;");
  if (size == std::u32string_view::npos) size = std::min(kLongestReference, text.size() - at);
  const bool closed = at + size < text.size() && text[at + size] == ';';
  const auto* entity = find_html_entity(text.substr(at, size));
  if (entity != nullptr && (closed || entity->bare)) {
    append_entity(*entity, result);
    at += size + (closed ? 1 : 0);
    return true;
  }
  for (std::size_t shorter = closed ? size : size - 1; size > 0 && shorter > 1; --shorter) {
    entity = find_html_entity(text.substr(at, shorter));
    if (entity == nullptr || !entity->bare) continue;
    append_entity(*entity, result);
    at += shorter;
    return true;
  }
  return false;
}

}  // namespace

char32_t digit_value(char32_t c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : 16;
}

char32_t parse_code_point(std::u32string_view digits, char32_t base) {
  constexpr char32_t kNoCharacter = 0x110000;
  char32_t value = 0;
  for (const char32_t c : digits) value = std::min<char32_t>(kNoCharacter, value * base + digit_value(c));
  return value;
}

std::u32string html_unescape(std::u32string_view text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '&') {
      result += text[at++];
      continue;
    }
    ++at;
    const bool number = at < text.size() && text[at] == '#';
    std::size_t end = at + (number ? 1 : 0);
    if (number ? unescape_number(text, end, result) : unescape_name(text, end, result))
      at = end;
    else
      result += '&';
  }
  return result;
}

}  // namespace perfuse
