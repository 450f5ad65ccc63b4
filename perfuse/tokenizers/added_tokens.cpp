#include "perfuse/tokenizers/added_tokens.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <set>
#include <utility>

#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

// A word character as regular expressions define it (Unicode's \w).
bool is_word(char32_t character) {
  const auto c = static_cast<UChar32>(character);
  const int category = u_charType(c);
  return u_hasBinaryProperty(c, UCHAR_ALPHABETIC) || u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL) ||
         category == U_DECIMAL_DIGIT_NUMBER || category == U_CONNECTOR_PUNCTUATION ||
         category == U_NON_SPACING_MARK || category == U_ENCLOSING_MARK ||
         category == U_COMBINING_SPACING_MARK;
}

bool is_white_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

bool stands_alone(std::string_view before, std::string_view after) {
  std::size_t end = before.size(), begin = 0;
  return (before.empty() || !is_word(previous_character(before, end))) &&
         (after.empty() || !is_word(next_character(after, begin)));
}

std::size_t white_space_at_start(std::string_view text) {
  std::size_t i = 0;
  for (std::size_t next = 0; next < text.size() && is_white_space(next_character(text, next));) i = next;
  return i;
}

// Where the white space at the end of `text` begins.
std::size_t white_space_at_end(std::string_view text) {
  std::size_t i = text.size();
  for (std::size_t before = i; before > 0 && is_white_space(previous_character(text, before));) i = before;
  return i;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Charsmap& charsmap)
    : tokens_(std::move(tokens)) {
  std::vector<std::string_view> raw;
  std::set<std::string> normalized;  // keeps the keys alive, and drops those that become equal
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const auto& token = tokens_[i];
    if (!token.normalized) {
      raw.push_back(token.content);
      raw_.tokens.push_back(i);
    } else if (const auto [key, added] = normalized.insert(charsmap.normalize(token.content));
               added && !key->empty()) {
      keys.push_back(*key);
      normalized_.tokens.push_back(i);
    }
  }
  raw_.tree = PrefixTree(raw);
  normalized_.tree = PrefixTree(keys);
}

std::vector<AddedTokens::Part> AddedTokens::split(std::string_view text, const Finder& finder) const {
  std::vector<Part> parts;
  std::size_t done = 0;  // text before it is in parts
  const auto add_text = [&](std::size_t end) {
    if (end > done) parts.push_back({text.substr(done, end - done)});
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    std::int32_t value = 0;
    finder.tree.prefixes(text.substr(at), [&](std::size_t l, std::int32_t v) { length = l, value = v; });
    if (length == 0) {
      ++at;
      continue;
    }
    const auto& token = tokens_[finder.tokens[static_cast<std::size_t>(value)]];
    std::size_t begin = at, end = at + length;
    at = end;
    if (token.single_word && !stands_alone(text.substr(0, begin), text.substr(end))) continue;
    if (token.lstrip) begin = done + white_space_at_end(text.substr(done, begin - done));
    if (token.rstrip) end += white_space_at_start(text.substr(end));
    add_text(begin);
    parts.push_back({text.substr(begin, end - begin), token.id});
    at = done = end;
  }
  add_text(text.size());
  return parts;
}

}  // namespace perfuse
