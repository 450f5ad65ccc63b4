#include "perfuse/tokenizers/caption_cleaning.h"

#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/html_entities.h"
#include "perfuse/tokenizers/text_case.h"

namespace perfuse {
namespace {

// Python's classes and borders, which differ from ICU's (marks are no letters; U+001C to U+001F are white space).
constexpr std::string_view kWord = R"(\p{L}\p{N}_)";
constexpr std::string_view kSpace =
    R"(\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000)";
constexpr std::string_view kBorder =
    R"((?:(?<=[\p{L}\p{N}_])(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}_])(?=[\p{L}\p{N}_])))";

// ICU counts in steps of matching, about a millisecond each.
constexpr std::int32_t kTimeLimit = 300;

// Writes \w, \s, \S and \b of a pattern out as Python means them.
std::string expand(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      const std::string_view inside = next == 'w' ? kWord : kSpace;
      if (next == 'b' && !in_class)
        result += kBorder;
      else if (next == 'w' || next == 's')
        result += in_class ? std::string(inside) : fmt::format("[{}]", inside);
      else if (next == 'S' && !in_class)
        result += fmt::format("[^{}]", inside);
      else
        (result += c) += next;
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    result += c;
  }
  return result;
}

struct Rule {
  std::string_view pattern, replacement;
};

constexpr std::string_view kHosts = R"([a-zA-Z0-9.\-]+[.](?:com|co|ru|net|org|edu|gov|it)[\w/\-]*\b/?(?!@))";

// Before tags are taken out. The order is part of the definition throughout.
const std::vector<Rule>& rules_before_tags() {
  static const std::string http = fmt::format(R"(\b(?:https?:(?:/{{1,3}}|[a-zA-Z0-9%])|{}))", kHosts);
  static const std::string www = fmt::format(R"(\b(?:www:(?:/{{1,3}}|[a-zA-Z0-9%])|{}))", kHosts);
  static const std::vector<Rule> rules{{"<person>", "person"}, {http, ""}, {www, ""}};
  return rules;
}

constexpr Rule kRulesAfterTags[] = {
    {R"(@[\w]+\b)", ""},                       // user names
    {R"([\u31c0-\u4dff\u4e00-\u9fff]+)", ""},  // CJK strokes to unified ideographs, katakana extensions
    {R"([\u002d\u058a\u05be\u1400\u1806\u2010-\u2015\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d]+)",
     "-"},
    {R"([`\u00b4\u00ab\u00bb\u201c\u201d\u00a8])", "\""},
    {R"([\u2018\u2019])", "'"},
    {R"(&quot;?)", ""},
    {R"(&amp)", ""},
    {R"(\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})", " "},  // IP addresses
    {R"(\d:\d\d\s+$)", ""},                          // article numbers
    {R"(\\n)", " "},                                 // a line break that was written out
    {R"(#\d{1,3}\b)", ""},
    {R"(#\d{5,}\b)", ""},
    {R"(\b\d{6,}\b)", ""},  // telephone numbers and the like
    {R"(\S+\.(?:png|jpg|jpeg|bmp|webp|eps|pdf|apk|mp4))", ""},
    {R"(["']{2,})", "\""},
    {R"([.]{2,})", " "},
    {R"([#®•©™&@·º½¾¿¡§~)(\]\[}{|\\/*]+)", " "},
    {R"(\s+\.\s+)", " "},
};

constexpr Rule kJoiners{R"([\-_])", " "};
constexpr int kFewJoiners = 3;  // up to three, words joined by - or _ are taken for meant

constexpr Rule kRulesAfterMending[] = {
    {R"(\b[a-zA-Z]{1,3}\d{3,15}\b)", ""},  // jc6640
    {R"(\b[a-zA-Z]+\d+[a-zA-Z]+\b)", ""},  // jc6640vc
    {R"(\b\d+[a-zA-Z]+\d+\b)", ""},        // 6640vc231
    {R"((worldwide\s+)?(free\s+)?shipping)", ""},
    {R"((free\s)?download(\sfree)?)", ""},
    {R"(\bclick\b\s(?:for|on)\s[\w]+)", ""},
    {R"(\b(?:png|jpg|jpeg|bmp|webp|eps|pdf|apk|mp4)(\simages?)?)", ""},
    {R"(\bpage\s+\d+\b)", ""},
    {R"(\b\d*[a-zA-Z]+\d+[a-zA-Z]+\d+[a-zA-Z\d]*\b)", " "},
    {R"(\b\d+\.?\d*[x\u0445\u00d7]\d+\.?\d*\b)", ""},  // sizes, with a Latin or Cyrillic x or a ×
    {R"(\b\s+:\s+)", ": "},
    {R"((\D[,./])\b)", "$1 "},
    {R"(\s+)", " "},
    {R"(^["']([\u0000-\U0010ffff]+)["']$)", "$1"},
    {R"(^['_,\-:;])", ""},
    {R"(['_,\-:+]$)", ""},
    {R"(^\.\S+$)", ""},
};

std::unique_ptr<icu::RegexPattern> compile(const Rule& rule) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where;
  std::unique_ptr<icu::RegexPattern> pattern(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(expand(rule.pattern)), 0, where, status));
  if (U_FAILURE(status))
    fail(ErrorKind::unsupported, "caption cleaning: ICU does not take the pattern {}: {}", rule.pattern,
         u_errorName(status));
  return pattern;
}

[[noreturn]] void fail_slow() {
  fail(ErrorKind::usage, "prompt: cleaning it takes too long; shorten it, or turn clean_caption off");
}

// A rule ready to use; immutable, so threads share it.
class CompiledRule {
 public:
  explicit CompiledRule(const Rule& rule)
      : pattern_(compile(rule)), replacement_(icu::UnicodeString::fromUTF8(std::string(rule.replacement))) {}

  void apply(icu::UnicodeString& text) const {
    UErrorCode status = U_ZERO_ERROR;
    const auto matcher = match(text, status);
    icu::UnicodeString result = matcher->replaceAll(replacement_, status);
    if (U_FAILURE(status)) fail_slow();
    text = std::move(result);
  }
  [[nodiscard]] int count(const icu::UnicodeString& text) const {
    UErrorCode status = U_ZERO_ERROR;
    const auto matcher = match(text, status);
    int found = 0;
    while (U_SUCCESS(status) && matcher->find(status)) ++found;
    if (U_FAILURE(status)) fail_slow();
    return found;
  }

 private:
  [[nodiscard]] std::unique_ptr<icu::RegexMatcher> match(const icu::UnicodeString& text,
                                                         UErrorCode& status) const {
    std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(text, status));
    if (U_FAILURE(status)) fail_slow();
    matcher->setTimeLimit(kTimeLimit, status);
    return matcher;
  }
  std::unique_ptr<icu::RegexPattern> pattern_;
  icu::UnicodeString replacement_;
};

template <class Rules> std::vector<CompiledRule> compile_all(const Rules& rules) {
  std::vector<CompiledRule> result;
  for (const auto& rule : rules) result.emplace_back(rule);
  return result;
}

// %41 and + of a URL's query. Bytes that are not UTF-8 then become U+FFFD.
std::string unquote_plus(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    if (escaped) {
      result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  std::string valid;
  icu::UnicodeString::fromUTF8(result).toUTF8String(valid);
  return valid;
}

// The character of "amp" or "#38" or "#x26", or nothing.
std::optional<char32_t> entity(std::string_view name) {
  if (name.starts_with('#')) {
    const bool hex = name.size() > 1 && (name[1] == 'x' || name[1] == 'X');
    const std::string digits(name.substr(hex ? 2 : 1));
    if (digits.empty() || digits.size() > 7 ||
        digits.find_first_not_of(hex ? "0123456789abcdefABCDEF" : "0123456789") != std::string::npos)
      return std::nullopt;
    const auto value = std::stoul(digits, nullptr, hex ? 16 : 10);
    return value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)
               ? char32_t{0xfffd}
               : static_cast<char32_t>(value);
  }
  const auto found = std::lower_bound(kHtmlEntities.begin(), kHtmlEntities.end(), name,
                                      [](const HtmlEntity& e, std::string_view n) { return e.name < n; });
  return found != kHtmlEntities.end() && found->name == name ? std::optional(found->character) : std::nullopt;
}

// The text of an HTML fragment: tags and comments go, entities become characters.
icu::UnicodeString html_text(const icu::UnicodeString& html) {
  std::string bytes, result;
  html.toUTF8String(bytes);
  constexpr std::size_t kLongestEntity = 32;
  for (std::size_t i = 0; i < bytes.size();) {
    const char next = i + 1 < bytes.size() ? bytes[i + 1] : '\0';
    const bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    if (bytes[i] == '<' && (letter || next == '/' || next == '!' || next == '?')) {
      const bool comment = bytes.compare(i, 4, "<!--") == 0;
      const auto end = comment ? bytes.find("-->", i + 4) : bytes.find('>', i);
      if (end == std::string::npos) break;  // an unfinished tag swallows the rest
      i = end + (comment ? 3 : 1);
      continue;
    }
    if (bytes[i] == '&') {
      const auto end = bytes.find(';', i);
      const auto character = end != std::string::npos && end - i <= kLongestEntity
                                 ? entity(std::string_view(bytes).substr(i + 1, end - i - 1))
                                 : std::nullopt;
      if (character) {
        icu::UnicodeString(static_cast<UChar32>(*character)).toUTF8String(result);
        i = end + 1;
        continue;
      }
    }
    result += bytes[i++];
  }
  return icu::UnicodeString::fromUTF8(result);
}

// Ligatures and full-width forms as plain letters, one kind of line break, no control characters, composed (NFC).
icu::UnicodeString mend(const icu::UnicodeString& text) {
  static constexpr std::pair<UChar32, const char*> kLigatures[] = {
      {0xfb00, "ff"}, {0xfb01, "fi"}, {0xfb02, "fl"}, {0xfb03, "ffi"}, {0xfb04, "ffl"},
      {0xfb05, "st"}, {0xfb06, "st"}, {0x0133, "ij"}, {0x0149, "'n"}};
  icu::UnicodeString result;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    const UChar32 c = text.char32At(i);
    const auto ligature = std::find_if(std::begin(kLigatures), std::end(kLigatures),
                                       [c](const auto& l) { return l.first == c; });
    const bool control = c < 0x09 || c == 0x0b || (c >= 0x0e && c < 0x20) || c == 0x7f ||
                         (c >= 0x206a && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffc);
    if (ligature != std::end(kLigatures))
      result += icu::UnicodeString::fromUTF8(ligature->second);
    else if (c >= 0xff01 && c <= 0xff5e)
      result += c - 0xff01 + 0x21;
    else if (c == 0x3000)
      result += ' ';
    else if (c == 0x0d || c == 0x85 || c == 0x2028 || c == 0x2029)
      result += '\n';
    else if (!control)
      result += c;
  }
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  icu::UnicodeString composed = U_SUCCESS(status) ? nfc->normalize(result, status) : result;
  if (U_FAILURE(status))
    fail(ErrorKind::unsupported, "caption cleaning: ICU can't normalise: {}", u_errorName(status));
  return composed;
}

std::string clean_once(std::string_view caption) {
  static const auto before_tags = compile_all(rules_before_tags());
  static const auto after_tags = compile_all(kRulesAfterTags);
  static const CompiledRule joiners(kJoiners);
  static const auto after_mending = compile_all(kRulesAfterMending);

  icu::UnicodeString text = icu::UnicodeString::fromUTF8(lower_and_strip(unquote_plus(caption)));
  for (const auto& rule : before_tags) rule.apply(text);
  text = html_text(text);
  for (const auto& rule : after_tags) rule.apply(text);
  if (joiners.count(text) > kFewJoiners) joiners.apply(text);
  text = mend(text);
  for (const auto& rule : after_mending) rule.apply(text);
  std::string result;
  text.toUTF8String(result);
  return lower_and_strip(result);
}

}  // namespace

std::string clean_caption(std::string_view text) { return clean_once(clean_once(text)); }

}  // namespace perfuse
