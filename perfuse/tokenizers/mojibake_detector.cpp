#include "perfuse/tokenizers/mojibake_detector.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>

#include "perfuse/tokenizers/text_case.h"

namespace perfuse {
namespace {

using Classes = CharacterClasses;

enum ClassBit : Classes {
  kCommon = 1u << 0,
  kC1 = 1u << 1,
  kBad = 1u << 2,
  kLaw = 1u << 3,
  kCurrency = 1u << 4,
  kStartPunctuation = 1u << 5,
  kEndPunctuation = 1u << 6,
  kNumeric = 1u << 7,
  kKaomoji = 1u << 8,
  kUpperAccented = 1u << 9,
  kLowerAccented = 1u << 10,
  kUpperCommon = 1u << 11,
  kLowerCommon = 1u << 12,
  kBox = 1u << 13,
  // As a byte in some character set: the first of two, three or four of UTF-8, or one of the others.
  kUtf8FirstOf2 = 1u << 14,
  kUtf8FirstOf3 = 1u << 15,
  kUtf8FirstOf4 = 1u << 16,
  kUtf8Continuation = 1u << 17,
  kUtf8ContinuationStrict = 1u << 18,
  // Not in the table, but computed.
  kAsciiLower = 1u << 19,
  kAsciiUpper = 1u << 20,
  kSpace = 1u << 21,
  kWord = 1u << 22,
  kInLine = 1u << 23,  // all but \n
};

struct ClassRange {
  Classes bit;
  char32_t first, last;
};

constexpr ClassRange kRanges[] = {
#include "perfuse/tokenizers/mojibake_classes.inc"
};

// One place of a rule: a character of any of the classes, or one that is listed; with `except`, any other.
struct Place {
  Classes classes = 0;
  std::u32string_view also = {};
  bool except = false;
};

constexpr std::size_t kMostPlaces = 7;
struct Rule {
  std::array<Place, kMostPlaces> places;
  bool at_start = false;
};

constexpr Classes kLetter = kAsciiLower | kAsciiUpper;
constexpr Classes kAccented = kLowerAccented | kUpperAccented;
constexpr Classes kPunctuation = kStartPunctuation | kEndPunctuation;
constexpr Classes kSymbol = kCurrency | kNumeric;
constexpr Classes kNearBad = kAccented | kBox | kPunctuation | kSymbol | kLaw;
constexpr Place kArabicLead{0, U"ØÙ"};
constexpr Place kArabicRest{kCommon | kBad | kSymbol | kStartPunctuation, U"ŸŠ®°µ»"};
constexpr Place kCyrillicLead{0, U"ВГРС"};
constexpr Place kGreekLead{0, U"ΒΓΞΟ"};
constexpr Classes kLeadRest = kC1 | kBad | kPunctuation | kCurrency;

constexpr Rule kRules[] = {
    {{{{kC1}}}},
    {{{{kBad | kNearBad}, {kBad}}}},
    {{{{kLetter}, {kLowerCommon | kUpperCommon}, {kBad}}}},
    {{{{kBad}, {kNearBad}}}},
    {{{{kLowerAccented | kLowerCommon | kBox | kEndPunctuation | kSymbol}, {kUpperAccented}}}},
    {{{{kBox | kEndPunctuation | kSymbol}, {kLowerAccented}}}},
    {{{{kLowerAccented | kBox | kEndPunctuation}, {kCurrency}}}},
    {{{{kSpace}, {kUpperAccented}, {kCurrency}}}},
    {{{{kUpperAccented | kBox}, {kNumeric | kLaw}}}},
    {{{{kAccented | kBox | kCurrency | kEndPunctuation}, {kStartPunctuation}, {kNumeric}}}},
    {{{{kAccented | kSymbol | kBox | kLaw}, {kEndPunctuation}, {kStartPunctuation}}}},
    {{{{kSymbol | kBox}, {kStartPunctuation}}}},
    {{{{kAsciiLower}, {kUpperAccented}, {kStartPunctuation | kCurrency}}}},
    {{{{kBox}, {kKaomoji}}}},
    {{{{kAccented | kSymbol | kPunctuation | kLaw}, {kBox}}}},
    {{{{kBox}, {kEndPunctuation}}}},
    {{{{kAccented}, {kPunctuation}, {kWord}}}},
    {{{{0, U"Œœ"}, {kLetter, {}, true}}}},
    {{{{kUpperAccented}, {0, U"°"}}}},
    // Latin letters in Windows-1252.
    {{{{0, U"ÂÃÎÐ"}, {kPunctuation, U"€œŠš¢£Ÿž\u00a0\u00ad®©°·»–—´"}}}},
    {{{{0, U"×"}, {0, U"²³"}}}},
    // Arabic in Windows-1252; its characters are common, so two pairs have to follow each other.
    {{{kArabicLead, kArabicRest, kArabicLead, kArabicRest}}},
    // South Asian letters in Windows-1252.
    {{{{0, U"à"}, {0, U"²µ¹¼½¾"}}}},
    // MacRoman.
    {{{{0, U"√"}, {0, U"±∂†≠®™´≤≥¥µø"}}}},
    {{{{0, U"≈"}, {0, U"°¢"}}}},
    {{{{0, U"‚"}, {0, U"Ä"}, {0, U"ìîïòôúùû†°¢π"}}}},
    {{{{0, U"‚"}, {0, U"âó"}, {0, U"àä°ê"}}}},
    // Windows-1251: punctuation, other letters, and letters that went through two sets.
    {{{{0, U"в"}, {0, U"Ђ"}}}},
    {{{kCyrillicLead, {kLeadRest, U"°µ"}, kCyrillicLead}}},
    {{{{0, U"Г"}, {0, U"ў"}, {0, U"В"}, {0, U"Ђ"}, {0, U"В"}, {kInLine}, {kLetter, U" "}}}},
    // à, á and no-break spaces in Windows-1252, where some space was made a plain one.
    {{{{0, U"Ã"}, {0, U"\u00a0¡"}}}},
    {{{{kAsciiLower}, {0, U"ÃÂ"}, {0, U" "}}}},
    {{{{kAsciiLower}, {kSpace}, {0, U"ÃÂ"}, {0, U" "}}}},
    {{{{0, U"ÃÂ"}, {0, U" "}}}, true},
    {{{{kAsciiLower | kEndPunctuation, U".,?!"}, {0, U"Â"}, {kPunctuation, U" "}}}},
    // Windows-1253: punctuation, other letters. Windows-1257: punctuation.
    {{{{0, U"β"}, {0, U"€"}, {0, U"™\u00a0Ά\u00ad®°"}}}},
    {{{kGreekLead, {kLeadRest, U"°"}, kGreekLead}}},
    {{{{0, U"ā"}, {0, U"€"}}}},
};

std::unordered_map<char32_t, Classes> make_table() {
  std::unordered_map<char32_t, Classes> table;
  for (const auto& range : kRanges)
    for (char32_t c = range.first; c <= range.last; ++c) table[c] |= range.bit;
  return table;
}

bool is_unused(const Place& place) { return place.classes == 0 && place.also.empty() && !place.except; }

bool matches(const Place& place, char32_t c, Classes classes) {
  const bool found = (place.classes & classes) != 0 || place.also.find(c) != std::u32string_view::npos;
  return found != place.except;
}

bool matches(const Rule& rule, std::u32string_view text, const std::vector<Classes>& classes,
             std::size_t at) {
  if (rule.at_start && at > 0) return false;
  for (const Place& place : rule.places) {
    if (is_unused(place)) return true;
    if (at == text.size() || !matches(place, text[at], classes[at])) return false;
    ++at;
  }
  return true;
}

std::vector<Classes> classify(std::u32string_view text) {
  std::vector<Classes> result(text.size());
  std::transform(text.begin(), text.end(), result.begin(), character_classes);
  return result;
}

// Characters of the sequence at `at`, 0 if there is none.
std::size_t lookalike_size(const std::vector<Classes>& classes, std::size_t at) {
  const std::size_t size = (classes[at] & kUtf8FirstOf2) != 0   ? 2
                           : (classes[at] & kUtf8FirstOf3) != 0 ? 3
                           : (classes[at] & kUtf8FirstOf4) != 0 ? 4
                                                                : 0;
  if (size == 0 || classes.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((classes[at + i] & kUtf8Continuation) == 0) return 0;
  return size;
}

}  // namespace

CharacterClasses character_classes(char32_t c) {
  static const auto table = make_table();
  const auto found = table.find(c);
  Classes result = found != table.end() ? found->second : 0;
  if (c >= 'a' && c <= 'z') result |= kAsciiLower;
  if (c >= 'A' && c <= 'Z') result |= kAsciiUpper;
  if (is_python_space(c)) result |= kSpace;
  constexpr std::uint32_t kWordCategories = U_GC_L_MASK | U_GC_N_MASK;
  if (c == '_' || (U_MASK(u_charType(static_cast<UChar32>(c))) & kWordCategories) != 0) result |= kWord;
  return c == '\n' ? result : result | kInLine;
}

bool looks_like_mojibake(std::u32string_view text) {
  const auto classes = classify(text);
  for (std::size_t at = 0; at < text.size(); ++at)
    if (std::any_of(std::begin(kRules), std::end(kRules),
                    [&](const Rule& rule) { return matches(rule, text, classes, at); }))
      return true;
  return false;
}

std::vector<TextRange> utf8_lookalikes(std::u32string_view text) {
  const auto classes = classify(text);
  std::vector<TextRange> result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    if (at == 0 || (classes[at - 1] & kUtf8ContinuationStrict) == 0)
      while (end < text.size()) {
        const std::size_t size = lookalike_size(classes, end);
        if (size == 0) break;
        end += size;
      }
    if (end > at) result.push_back({at, end});
    at = std::max(end, at + 1);
  }
  return result;
}

}  // namespace perfuse
