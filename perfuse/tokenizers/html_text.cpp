#include "perfuse/tokenizers/html_text.h"

#include <algorithm>
#include <optional>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/html_entities.h"
#include "perfuse/tokenizers/html_strings.h"
#include "perfuse/tokenizers/html_tag.h"
#include "perfuse/tokenizers/html_unescape.h"
#include "perfuse/tokenizers/single_byte_set.h"
#include "perfuse/tokenizers/text_case.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

using Text = std::u32string_view;
constexpr std::size_t kNone = Text::npos;

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char32_t c) { return is_digit(c) || is_ascii_letter(c); }

bool equals_ascii_caseless(Text text, Text lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char32_t a, char32_t b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

class Parser {
 public:
  Parser(Text html, CleaningBudget& budget) : html_(html), budget_(budget) {}

  std::u32string run() {
    // html.parser is fed first and told that the text is over later, and doesn't treat the two alike.
    parse(false);
    parse(true);
    return strings_.take();
  }

 private:
  void parse(bool over);
  // One step at a < or &; false if parsing has to stop there.
  bool markup(bool over);
  bool reference(bool over);
  bool number_reference();
  bool skip_raw_text();

  // Each returns where the construct at `at_` ends, or nothing if it doesn't.
  std::optional<std::size_t> construct();
  std::optional<std::size_t> start_tag();
  std::optional<std::size_t> end_tag();
  std::optional<std::size_t> bogus_comment();
  std::optional<std::size_t> marked_section();
  std::optional<std::size_t> comment();

  [[nodiscard]] bool starts_with(Text text) const { return html_.substr(at_).starts_with(text); }
  // Behind the first > that closes `count` marks, with white space between all of these; `begin` is where to look
  // from, and becomes where the first mark is.
  std::optional<std::size_t> find_closing(Text mark, int count, std::size_t& begin) const;

  Text html_;
  CleaningBudget& budget_;
  HtmlStrings strings_;
  std::size_t at_ = 0;
  std::u32string raw_;  // "script" or "style" while inside one
};

std::optional<std::size_t> Parser::find_closing(Text mark, int count, std::size_t& begin) const {
  for (; (begin = html_.find(mark, begin)) != kNone; ++begin) {
    std::size_t end = begin;
    int found = 0;
    for (; found < count && html_.substr(end).starts_with(mark); ++found) {
      end += mark.size();
      while (end < html_.size() && is_python_space(html_[end])) ++end;
    }
    if (found == count && end < html_.size() && html_[end] == '>') return end + 1;
  }
  return std::nullopt;
}

std::optional<std::size_t> Parser::comment() {
  std::size_t begin = at_ + 4;
  const auto end = find_closing(U"--", 1, begin);
  if (end) strings_.ignored();
  return end;
}

std::optional<std::size_t> Parser::bogus_comment() {
  const std::size_t end = html_.find('>', at_ + 2);
  if (end == kNone) return std::nullopt;
  strings_.ignored();
  return end + 1;
}

// <![CDATA[…]]> and Word's <![if …]>.
std::optional<std::size_t> Parser::marked_section() {
  const std::size_t begin = at_ + 3;
  if (begin == html_.size()) return std::nullopt;
  std::size_t end = begin;
  if (is_ascii_letter(html_[begin]))
    while (end < html_.size() &&
           (is_alphanumeric(html_[end]) || html_[end] == '-' || html_[end] == '_' || html_[end] == '.'))
      ++end;
  const Text name = html_.substr(begin, end - begin);
  while (end > begin && end < html_.size() && is_python_space(html_[end])) ++end;
  if (end == html_.size()) return std::nullopt;

  const auto is_one_of = [&](std::initializer_list<Text> names) {
    return std::any_of(names.begin(), names.end(), [&](Text n) { return equals_ascii_caseless(name, n); });
  };
  const bool sgml = is_one_of({U"temp", U"cdata", U"ignore", U"include", U"rcdata"});
  if (!sgml && !is_one_of({U"if", U"else", U"endif"}))
    fail(ErrorKind::usage,
         "prompt: \"<![{}\" is no marked section; diffusers refuses it too, so take it out, or turn "
         "clean_caption off",
         to_utf8(name));
  std::size_t closing = begin;
  const auto behind = find_closing(U"]", sgml ? 2 : 1, closing);
  if (!behind) return std::nullopt;
  const Text content = html_.substr(begin, closing - begin);
  constexpr Text kCdata = U"cdata[";
  if (content.size() >= kCdata.size() && equals_ascii_caseless(content.substr(0, kCdata.size()), kCdata))
    strings_.cdata(content.substr(kCdata.size()));
  else
    strings_.ignored();
  return behind;
}

std::optional<std::size_t> Parser::end_tag() {
  const std::size_t end = html_.find('>', at_ + 2);
  if (end == kNone) return std::nullopt;
  std::size_t name = at_ + 2;
  while (name < end && is_python_space(html_[name])) ++name;
  std::size_t name_end = name;
  if (is_ascii_letter(html_[name]))
    while (is_alphanumeric(html_[name_end]) || Text(U"-.:_").find(html_[name_end]) != kNone) ++name_end;
  std::size_t rest = name_end;
  while (rest < end && is_python_space(html_[rest])) ++rest;
  if (name_end > name && rest == end) {
    const std::u32string tag = read_tag_name(html_.substr(0, name_end), name);
    if (!raw_.empty() && tag != raw_) {
      strings_.data(html_.substr(at_, end + 1 - at_));
      return end + 1;
    }
    strings_.close(tag);
    raw_.clear();
  } else if (!raw_.empty()) {
    strings_.data(html_.substr(at_, end + 1 - at_));
  } else if (is_ascii_letter(html_[at_ + 2])) {
    strings_.close(read_tag_name(html_, at_ + 2));
  } else if (end > at_ + 2) {
    strings_.ignored();
  }
  return end + 1;
}

std::optional<std::size_t> Parser::start_tag() {
  const auto tag = read_start_tag(html_, at_);
  if (!tag) return std::nullopt;
  if (tag->kind == StartTag::Kind::broken) {
    strings_.data(html_.substr(at_, tag->end - at_));
  } else if (tag->kind == StartTag::Kind::self_closing) {
    strings_.open_and_close(tag->name);
  } else {
    strings_.open(tag->name);
    if (tag->name == U"script" || tag->name == U"style") raw_ = tag->name;
  }
  return tag->end;
}

std::optional<std::size_t> Parser::construct() {
  if (is_ascii_letter(html_[at_ + 1])) return start_tag();
  if (starts_with(U"</")) return end_tag();
  if (starts_with(U"<!--")) return comment();
  if (starts_with(U"<![")) return marked_section();
  if (starts_with(U"<?") || starts_with(U"<!")) {
    // Of these only the doctype has a name before its end is looked for.
    constexpr Text kDoctype = U"<!doctype";
    const bool doctype = equals_ascii_caseless(html_.substr(at_, kDoctype.size()), kDoctype);
    if (!doctype) return bogus_comment();
    const std::size_t end = html_.find('>', at_ + kDoctype.size());
    if (end == kNone) return std::nullopt;
    strings_.ignored();
    return end + 1;
  }
  strings_.data(U"<");
  return at_ + 1;
}

// A number as Beautiful Soup reads it, which keeps code points that html.unescape drops.
std::u32string numbered_character(char32_t c) {
  if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return U"\ufffd";
  return {c >= 0x80 && c <= 0x9f ? windows_1252().decode(static_cast<unsigned char>(c)) : c};
}

bool Parser::number_reference() {
  const std::size_t mark = at_ + 2;
  const bool hex = mark < html_.size() && (html_[mark] == 'x' || html_[mark] == 'X');
  const std::size_t begin = mark + (hex ? 1 : 0);
  std::size_t end = begin;
  while (end < html_.size() && (hex ? digit_value(html_[end]) < 16 : is_digit(html_[end]))) ++end;
  // Some other character has to follow, and a hexadecimal digit won't do.
  if (end > begin && end < html_.size() && digit_value(html_[end]) == 16) {
    strings_.data(numbered_character(parse_code_point(html_.substr(begin, end - begin), hex ? 16 : 10)));
    at_ = end + (html_[end] == ';' ? 1 : 0);
    return true;
  }
  if (html_.find(';', at_) != kNone) {
    strings_.data(U"&#");
    at_ += 2;
  }
  return false;
}

bool Parser::reference(bool over) {
  if (starts_with(U"&#")) return number_reference();
  const std::size_t begin = at_ + 1;
  if (begin == html_.size()) return false;
  if (!is_ascii_letter(html_[begin])) {
    strings_.data(U"&");
    ++at_;
    return true;
  }
  std::size_t end = begin;
  while (end < html_.size() && (is_alphanumeric(html_[end]) || html_[end] == '-' || html_[end] == '.')) ++end;
  // Some other character has to follow: at the end of the text that is the name's last - or . itself.
  if (end == html_.size()) do
      --end;
    while (end > begin && is_alphanumeric(html_[end]));
  if (end == begin) {
    if (over && html_.size() - at_ == 2) ++at_;  // a lone letter loses its &
    return false;
  }
  const Text name = html_.substr(begin, end - begin);
  if (const auto* entity = find_html_entity(name)) {
    strings_.data({&entity->first, 1});
    if (entity->second != 0) strings_.data({&entity->second, 1});
  } else {
    strings_.data(U"&");
    strings_.data(name);
  }
  at_ = end + (html_[end] == ';' ? 1 : 0);  // unknown names lose their semicolon
  return true;
}

bool Parser::markup(bool over) {
  if (html_[at_] == '&') return reference(over);
  if (at_ + 1 == html_.size()) return false;
  if (const auto end = construct()) {
    at_ = *end;
    return true;
  }
  budget_.spend(html_.size() - at_);
  if (!over) return false;
  std::size_t end = html_.find('>', at_ + 1);
  if (end != kNone)
    ++end;
  else if ((end = html_.find('<', at_ + 1)) == kNone)
    end = at_ + 1;
  strings_.data(html_.substr(at_, end - at_));
  at_ = end;
  return true;
}

// Inside script and style nothing counts but their end tag; false if there is none.
bool Parser::skip_raw_text() {
  for (std::size_t at = at_; (at = html_.find(U"</", at)) != kNone; ++at) {
    std::size_t name = at + 2;
    while (name < html_.size() && is_python_space(html_[name])) ++name;
    if (!equals_ascii_caseless(html_.substr(name, raw_.size()), raw_)) continue;
    std::size_t end = name + raw_.size();
    while (end < html_.size() && is_python_space(html_[end])) ++end;
    if (end >= html_.size() || html_[end] != '>') continue;
    if (at > at_) strings_.data(html_.substr(at_, at - at_));
    at_ = at;
    return true;
  }
  return false;
}

void Parser::parse(bool over) {
  while (at_ < html_.size()) {
    if (!raw_.empty()) {
      if (!skip_raw_text()) return;  // and what is left is lost
    } else {
      const std::size_t end = std::min(html_.find_first_of(U"&<", at_), html_.size());
      if (end > at_) strings_.data(html_.substr(at_, end - at_));
      at_ = end;
      if (at_ == html_.size()) break;
    }
    if (!markup(over)) break;
  }
  if (over && at_ < html_.size()) {
    strings_.data(html_.substr(at_));
    at_ = html_.size();
  }
}

}  // namespace

std::u32string html_text(Text html, CleaningBudget& budget) { return Parser(html, budget).run(); }

}  // namespace perfuse
