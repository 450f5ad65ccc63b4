#include "perfuse/tokenizers/html_tag.h"

#include <algorithm>

#include "perfuse/tokenizers/text_case.h"

namespace perfuse {
namespace {

using Text = std::u32string_view;

bool is_space_at(Text html, std::size_t at) { return at < html.size() && is_python_space(html[at]); }
bool is_at(Text html, std::size_t at, char32_t c) { return at < html.size() && html[at] == c; }

std::size_t skip_space(Text html, std::size_t at) {
  while (is_space_at(html, at)) ++at;
  return at;
}

// White space and slashes, but not the slash of "/>".
std::size_t skip_separators(Text html, std::size_t at) {
  while (is_space_at(html, at) || (is_at(html, at, '/') && !is_at(html, at + 1, '>'))) ++at;
  return at;
}

std::size_t name_end(Text html, std::size_t at) {
  return std::min(html.find_first_of(Text(U"\t\n\r\f />\0", 8), at), html.size());
}

std::size_t bare_value_end(Text html, std::size_t at) {
  while (at < html.size() && html[at] != '>' && !is_python_space(html[at])) ++at;
  return at;
}

// Behind the value at `at`, where = or white space before it may stand; `at` itself if there is none.
std::size_t skip_value(Text html, std::size_t at) {
  const std::size_t equals = skip_space(html, at);
  std::size_t behind = equals;
  while (is_at(html, behind, '=')) ++behind;
  if (behind == equals) return at;
  const std::size_t value = skip_space(html, behind);
  if (!is_at(html, value, '"') && !is_at(html, value, '\'')) return bare_value_end(html, value);
  const std::size_t closing = html.find(html[value], value + 1);
  if (closing != Text::npos) return closing + 1;
  // A quotation mark that nothing closes is no value. What could be one ends before it (white space), or begins
  // with the last of several = signs.
  if (value > behind) return value;
  return behind - equals > 1 ? bare_value_end(html, behind - 1) : at;
}

// Behind the attribute at `at` and what separates it from the next one; `at` itself if there is none.
std::size_t skip_attribute(Text html, std::size_t at) {
  if (at >= html.size() || html[at] == '/' || html[at] == '>' || is_python_space(html[at])) return at;
  const char32_t before = html[at - 1];
  if (before != '\'' && before != '"' && before != '/' && !is_python_space(before)) return at;
  std::size_t end = at + 1;
  while (end < html.size() && html[end] != '/' && html[end] != '=' && html[end] != '>' &&
         !is_python_space(html[end]))
    ++end;
  return skip_separators(html, skip_space(html, skip_value(html, end)));
}

}  // namespace

std::u32string read_tag_name(Text html, std::size_t at) {
  std::u32string name(html.substr(at, name_end(html, at) - at));
  for (char32_t& c : name)
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  return name;
}

std::optional<StartTag> read_start_tag(Text html, std::size_t at) {
  const std::size_t name = name_end(html, at + 1);
  std::size_t last = skip_separators(html, name);  // behind the last attribute
  std::size_t end = name;
  while (is_space_at(html, end) || is_at(html, end, '/')) ++end;
  while (end < html.size()) {
    const std::size_t next = skip_attribute(html, end);
    if (next == end) break;
    last = end = next;
  }
  if (end == html.size()) return std::nullopt;
  StartTag tag{StartTag::Kind::broken, read_tag_name(html, at + 1), end};
  if (html[end] == '>') {
    tag.end = end + 1;
  } else if (html[end] == '/') {
    if (!is_at(html, end + 1, '>')) return std::nullopt;
    tag.end = end + 2;
  } else if (html[end] == '=' || is_ascii_letter(html[end])) {
    return std::nullopt;
  }
  last = std::min(skip_space(html, last), tag.end);
  const Text rest = html.substr(last, tag.end - last);
  if (rest == U">")
    tag.kind = StartTag::Kind::open;
  else if (rest == U"/>")
    tag.kind = StartTag::Kind::self_closing;
  return tag;
}

}  // namespace perfuse
