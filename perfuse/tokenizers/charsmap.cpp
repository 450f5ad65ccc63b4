#include "perfuse/tokenizers/charsmap.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

#include <algorithm>
#include <memory>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

constexpr std::uint32_t kLeaf = 1u << 31;
constexpr std::size_t kLongestWholeCluster = 5;  // bytes

// One unit of the trie.
constexpr std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
constexpr std::uint32_t label(std::uint32_t unit) { return unit & (kLeaf | 0xffu); }
constexpr bool has_leaf(std::uint32_t unit) { return (unit & (1u << 8)) != 0; }

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}

// Calls f with each extended grapheme cluster of UTF-8 text.
template <class F> void for_each_cluster(std::string_view text, const F& f) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<UText, decltype(&utext_close)> utext(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status), &utext_close);
  const std::unique_ptr<UBreakIterator, decltype(&ubrk_close)> breaks(
      ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &status), &ubrk_close);
  ubrk_setUText(breaks.get(), utext.get(), &status);
  if (U_FAILURE(status)) fail(ErrorKind::unsupported, "ICU can't segment text: {}", u_errorName(status));
  auto begin = static_cast<std::size_t>(ubrk_first(breaks.get()));
  for (auto next = ubrk_next(breaks.get()); next != UBRK_DONE; next = ubrk_next(breaks.get())) {
    const auto end = static_cast<std::size_t>(next);
    f(text.substr(begin, end - begin));
    begin = end;
  }
}

}  // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& origin) {
  const std::size_t trie_size = blob.size() < 4 ? 0 : read_u32(blob, 0);
  if (trie_size == 0 || trie_size % 4 != 0 || trie_size > blob.size() - 4)
    fail(ErrorKind::model,
         "{}: precompiled_charsmap: {} bytes with a trie of {}; damaged, fetch the file again", origin,
         blob.size(), trie_size);
  units_.reserve(trie_size / 4);
  for (std::size_t i = 0; i < trie_size; i += 4) units_.push_back(read_u32(blob, 4 + i));
  replacements_ = blob.substr(4 + trie_size);
  if (!replacements_.empty() && replacements_.back() != '\0')
    fail(ErrorKind::model,
         "{}: precompiled_charsmap: the last replacement has no end; damaged, fetch the file again", origin);
  if (const auto at = find_invalid_utf8(replacements_))
    fail(ErrorKind::model,
         "{}: precompiled_charsmap: invalid UTF-8 at byte {}; damaged, fetch the file again", origin,
         4 + trie_size + *at);
  const auto starts_character = [&](std::uint32_t at) {
    return at < replacements_.size() && !is_continuation(replacements_[at]);
  };
  for (const auto unit : units_)
    if ((unit & kLeaf) != 0 && !starts_character(unit & ~kLeaf))
      fail(ErrorKind::model,
           "{}: precompiled_charsmap: a key whose replacement is at byte {} of {}; damaged, fetch the file "
           "again",
           origin, unit & ~kLeaf, replacements_.size());
}

std::optional<std::string_view> Charsmap::find(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  std::size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size() || (units_[node] & kLeaf) == 0) return std::nullopt;
    return std::string_view(replacements_.c_str() + (units_[node] & ~kLeaf));
  }
  return std::nullopt;
}

void Charsmap::append(std::string_view character, std::string& out) const {
  out += find(character).value_or(character);
}

std::string Charsmap::normalize(std::string_view text) const {
  std::string out;
  if (units_.empty()) return std::string(text);
  out.reserve(text.size());
  // In ASCII each character is a cluster of its own, but for CR LF.
  if (std::all_of(text.begin(), text.end(), [](char c) { return character_size(c) == 1 && c != '\r'; })) {
    for (std::size_t i = 0; i < text.size(); ++i) append(text.substr(i, 1), out);
    return out;
  }
  for_each_cluster(text, [&](std::string_view cluster) {
    if (cluster.size() <= kLongestWholeCluster) {
      if (const auto replacement = find(cluster)) {
        out += *replacement;
        return;
      }
    }
    for (std::size_t i = 0; i < cluster.size();) {
      const std::size_t size = character_size(cluster[i]);
      append(cluster.substr(i, size), out);
      i += size;
    }
  });
  return out;
}

}  // namespace perfuse
