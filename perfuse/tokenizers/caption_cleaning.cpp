#include "perfuse/tokenizers/caption_cleaning.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

#include <iterator>
#include <memory>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/cleaning_budget.h"
#include "perfuse/tokenizers/html_text.h"
#include "perfuse/tokenizers/html_unescape.h"
#include "perfuse/tokenizers/percent_encoding.h"
#include "perfuse/tokenizers/text_case.h"
#include "perfuse/tokenizers/text_repair.h"
#include "perfuse/tokenizers/utf8.h"

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
  std::unique_ptr<icu::RegexPattern> pattern(icu::RegexPattern::compile(
      icu::UnicodeString::fromUTF8(expand(rule.pattern)), UREGEX_UNIX_LINES, where, status));
  if (U_FAILURE(status))
    fail(ErrorKind::unsupported, "caption cleaning: ICU does not take the pattern {}: {}", rule.pattern,
         u_errorName(status));
  return pattern;
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
    if (U_FAILURE(status)) fail_slow_cleaning();
    text = std::move(result);
  }
  [[nodiscard]] int count(const icu::UnicodeString& text) const {
    UErrorCode status = U_ZERO_ERROR;
    const auto matcher = match(text, status);
    int found = 0;
    while (U_SUCCESS(status) && matcher->find(status)) ++found;
    if (U_FAILURE(status)) fail_slow_cleaning();
    return found;
  }

 private:
  [[nodiscard]] std::unique_ptr<icu::RegexMatcher> match(const icu::UnicodeString& text,
                                                         UErrorCode& status) const {
    std::unique_ptr<icu::RegexMatcher> matcher(pattern_->matcher(text, status));
    if (U_FAILURE(status)) fail_slow_cleaning();
    matcher->setTimeLimit(kTimeLimit, status);
    return matcher;
  }
  std::unique_ptr<icu::RegexPattern> pattern_;
  icu::UnicodeString replacement_;
};

template <class Rules> std::vector<CompiledRule> compile_all(const Rules& rules) {
  std::vector<CompiledRule> result;
  result.reserve(std::size(rules));
  for (const auto& rule : rules) result.emplace_back(rule);
  return result;
}

void apply_all(const std::vector<CompiledRule>& rules, std::string& text) {
  icu::UnicodeString units = icu::UnicodeString::fromUTF8(text);
  for (const auto& rule : rules) rule.apply(units);
  text.clear();
  units.toUTF8String(text);
}

std::string clean_once(std::string_view caption, CleaningBudget& budget) {
  static const auto before_tags = compile_all(rules_before_tags());
  static const auto after_tags = compile_all(kRulesAfterTags);
  static const auto joiners = compile_all(std::initializer_list<Rule>{kJoiners});
  static const auto after_mending = compile_all(kRulesAfterMending);

  std::string text = lower_and_strip(unquote_plus(caption));
  apply_all(before_tags, text);
  text = to_utf8(html_text(to_utf32(text), budget));
  apply_all(after_tags, text);
  if (joiners.front().count(icu::UnicodeString::fromUTF8(text)) > kFewJoiners) apply_all(joiners, text);
  text = to_utf8(html_unescape(html_unescape(fix_text(to_utf32(text), budget))));
  apply_all(after_mending, text);
  return std::string(strip(text));
}

}  // namespace

std::string clean_caption(std::string_view text) {
  CleaningBudget budget;
  return clean_once(clean_once(text, budget), budget);
}

}  // namespace perfuse
