#include "perfuse/tokenizers/text_repair.h"

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <iterator>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/html_entities.h"
#include "perfuse/tokenizers/html_tag.h"
#include "perfuse/tokenizers/html_unescape.h"
#include "perfuse/tokenizers/mojibake.h"

namespace perfuse {
namespace {

using Text = std::u32string_view;

// Lines longer than that are cut, so that one bad place doesn't decide over everything.
constexpr std::size_t kLongestSegment = 1'000'000;

icu::UnicodeString to_icu(Text text) {
  return icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()),
                                       static_cast<std::int32_t>(text.size()));
}

std::u32string from_icu(const icu::UnicodeString& text) {
  std::u32string result;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1))
    result += static_cast<char32_t>(text.char32At(i));
  return result;
}

using GetForm = const icu::Normalizer2* (*)(UErrorCode&);

std::u32string normalize(Text text, GetForm get_form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = get_form(status);
  icu::UnicodeString result;
  if (U_SUCCESS(status)) result = form->normalize(to_icu(text), status);
  if (U_FAILURE(status))
    fail(ErrorKind::unsupported, "caption cleaning: ICU can't normalise: {}", u_errorName(status));
  return from_icu(result);
}

bool is_alphanumeric(char32_t c) { return is_ascii_letter(c) || (c >= '0' && c <= '9'); }

// The characters of a name that HTML has in lower case only, for the name in upper case, as upper case.
std::u32string shouted_entity(Text name) {
  std::u32string lower(name);
  for (char32_t& c : lower) {
    if (c >= 'a' && c <= 'z') return {};
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';
  }
  const auto* entity = find_html_entity(lower);
  std::u32string reference(1, U'&');
  reference.append(name).push_back(U';');
  if (entity == nullptr || html_unescape(reference) != reference) return {};
  std::u32string characters(1, entity->first);
  if (entity->second != 0) characters += entity->second;
  return from_icu(to_icu(characters).toUpper(icu::Locale::getRoot()));
}

// `reference` runs from & to ; and has only letters and digits between, after a # perhaps.
std::u32string resolve(Text reference) {
  if (reference[1] == '#') {
    auto characters = html_unescape(reference);
    // Were only the first digits part of the number, the rest shows that no reference was meant.
    return characters.find(U';') != std::u32string::npos ? std::u32string(reference) : characters;
  }
  const Text name = reference.substr(1, reference.size() - 2);
  if (const auto* entity = find_html_entity(name))
    return entity->second != 0 ? std::u32string{entity->first, entity->second}
                               : std::u32string{entity->first};
  const auto shouted = shouted_entity(name);
  return shouted.empty() ? std::u32string(reference) : shouted;
}

std::u32string unescape_closed(Text text) {
  constexpr std::size_t kLongestName = 24;
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '&') {
      result += text[at++];
      continue;
    }
    const std::size_t name = at + 1 + (text.substr(at + 1).starts_with(U'#') ? 1 : 0);
    std::size_t end = name;
    while (end < text.size() && end - name <= kLongestName && is_alphanumeric(text[end])) ++end;
    const bool reference = end > name && end - name <= kLongestName && end < text.size() && text[end] == ';';
    if (reference)
      result += resolve(text.substr(at, end + 1 - at));
    else
      result += '&';
    at = reference ? end + 1 : at + 1;
  }
  return result;
}

struct Ligature {
  char32_t from;
  Text to;
};
// Those of Latin letters, and digraphs that exist for the sake of old character sets.
constexpr Ligature kLigatures[] = {
    {0x132, U"IJ"},       {0x133, U"ij"},  {0x149, U"\u02bcn"}, {0x1c4, U"D\u017d"}, {0x1c5, U"D\u017e"},
    {0x1c6, U"d\u017e"},  {0x1c7, U"LJ"},  {0x1c8, U"Lj"},      {0x1c9, U"lj"},      {0x1ca, U"NJ"},
    {0x1cb, U"Nj"},       {0x1cc, U"nj"},  {0x1f1, U"DZ"},      {0x1f2, U"Dz"},      {0x1f3, U"dz"},
    {0xfb00, U"ff"},      {0xfb01, U"fi"}, {0xfb02, U"fl"},     {0xfb03, U"ffi"},    {0xfb04, U"ffl"},
    {0xfb05, U"\u017ft"}, {0xfb06, U"st"},
};

std::u32string replace_ligatures_and_widths(Text text) {
  std::u32string result;
  for (const char32_t c : text) {
    const auto* ligature = std::find_if(std::begin(kLigatures), std::end(kLigatures),
                                        [c](const Ligature& l) { return l.from == c; });
    if (ligature != std::end(kLigatures))
      result += ligature->to;
    else if (c == 0x3000)
      result += ' ';
    else if (c >= 0xff01 && c <= 0xffef)  // the block of half-width and full-width forms
      result += normalize(Text(&c, 1), icu::Normalizer2::getNFKCInstance);
    else
      result += c;
  }
  return result;
}

std::u32string straighten_quotes_and_lines(Text text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char32_t c = text[at];
    if (c == 0x2bc || (c >= 0x2018 && c <= 0x201b))
      result += '\'';
    else if (c >= 0x201c && c <= 0x201f)
      result += '"';
    else if (c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029)
      result += '\n';
    else
      result += c;
    if (c == '\r' && text.substr(at + 1).starts_with(U'\n')) ++at;
  }
  return result;
}

// Behind the colour change or the like at `at`; `at` itself if there is none.
std::size_t skip_terminal_escape(Text text, std::size_t at) {
  if (!text.substr(at).starts_with(U"\u001b[")) return at;
  std::size_t end = at + 2;
  while (end < text.size() && (u_isdigit(static_cast<UChar32>(text[end])) || text[end] == ';')) ++end;
  return end < text.size() && is_ascii_letter(text[end]) ? end + 1 : at;
}

std::u32string remove_controls(Text text) {
  std::u32string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = skip_terminal_escape(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    const char32_t c = text[at++];
    const bool control = c < 0x09 || c == 0x0b || (c >= 0x0e && c < 0x20) || c == 0x7f ||
                         (c >= 0x206a && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffc);
    if (!control) result += c;
  }
  return result;
}

std::u32string fix_segment(Text segment, bool unescape, CleaningBudget& budget) {
  std::u32string before(segment);
  while (true) {
    budget.spend(before.size());
    std::u32string text = unescape ? unescape_closed(before) : before;
    text = fix_c1_controls(fix_encoding(text, budget));
    text = straighten_quotes_and_lines(replace_ligatures_and_widths(text));
    text = normalize(remove_controls(text), icu::Normalizer2::getNFCInstance);
    if (text == before) return text;
    before = std::move(text);
  }
}

}  // namespace

std::u32string fix_text(Text text, CleaningBudget& budget) {
  std::u32string result;
  bool unescape = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t line = text.find(U'\n', at);
    const std::size_t end = std::min(line == Text::npos ? text.size() : line + 1, at + kLongestSegment);
    const Text segment = text.substr(at, end - at);
    // From the first < on the text is taken for HTML, whose entities are to stay.
    unescape = unescape && segment.find(U'<') == Text::npos;
    result += fix_segment(segment, unescape, budget);
    at = end;
  }
  return result;
}

}  // namespace perfuse
