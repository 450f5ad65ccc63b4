#include "perfuse/tokenizers/utf8_repair.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0x100u;  // which is in no range
}

struct ByteRange {
  unsigned first = 1, last = 0;
};
constexpr std::size_t kMostRanges = 3, kMostBytes = 6;
// A byte in any of some ranges; unused without any.
struct Place {
  std::array<ByteRange, kMostRanges> ranges = {};

  [[nodiscard]] constexpr bool is_used() const { return ranges[0].first <= ranges[0].last; }
  [[nodiscard]] bool matches(unsigned byte) const {
    return std::any_of(ranges.begin(), ranges.end(),
                       [byte](const ByteRange& r) { return byte >= r.first && byte <= r.last; });
  }
};
using Sequence = std::array<Place, kMostBytes>;

constexpr Place one(unsigned byte) { return {{{{byte, byte}}}}; }

// Bytes of the first sequence of the table that stands at `at`; 0 for none.
template <class Table> std::size_t match(const Table& table, std::string_view bytes, std::size_t at) {
  for (const Sequence& sequence : table) {
    std::size_t size = 0;
    while (size < sequence.size() && sequence[size].is_used() &&
           sequence[size].matches(byte_at(bytes, at + size)))
      ++size;
    if (size == sequence.size() || !sequence[size].is_used()) return size;
  }
  return 0;
}

constexpr Place kSpace = one(' ');
constexpr Place kContinuation{{{{0x80, 0xbf}}}};
// Without 0x85, which may be an ellipsis, and without 0xA0 itself.
constexpr Place kNearSpace{{{{0x80, 0x84}, {0x86, 0x9f}, {0xa1, 0xbf}}}};

// Lead bytes for which 0xA0 gives a likely character: À..., Š, Π, Р, an Arabic digit; two bytes of scripts in use.
constexpr Sequence kSpacedPairs[] = {
    {one(0xc2), kSpace}, {one(0xc3), kSpace}, {one(0xc5), kSpace},
    {one(0xce), kSpace}, {one(0xd0), kSpace}, {one(0xd9), kSpace},
};
constexpr Sequence kSpacedSequences[] = {
    {Place{{{{0xe2, 0xe3}}}}, kSpace, kNearSpace},     {Place{{{{0xe0, 0xe3}}}}, kNearSpace, kSpace},
    {one(0xf0), kSpace, kContinuation, kContinuation}, {one(0xf0), kContinuation, kSpace, kContinuation},
    {one(0xf0), kContinuation, kContinuation, kSpace},
};

constexpr unsigned kSubstitute = 0x1a;
constexpr Place kLost{{{{kSubstitute, kSubstitute}, {'?', '?'}}}};
constexpr Place kLostOrNot{{{{kSubstitute, kSubstitute}, {0x80, 0xbf}}}};
constexpr Place kAny{{{{kSubstitute, kSubstitute}, {'?', '?'}, {0x80, 0xbf}}}};
constexpr Place kHighSurrogate{{{{0xa0, 0xaf}}}}, kLowSurrogate{{{{0xb0, 0xbf}}}};
constexpr Place kLead3{{{{0xe0, 0xef}}}}, kLead4{{{{0xf0, 0xf4}}}};
// A ? counts once in a sequence: it may stand for itself.
constexpr Sequence kLossySequences[] = {
    {Place{{{{0xc2, 0xdf}}}}, one(kSubstitute)},
    {Place{{{{0xc2, 0xc3}}}}, one('?')},
    {one(0xed), kHighSurrogate, kLost, one(0xed), kLowSurrogate, kAny},
    {one(0xed), kHighSurrogate, kAny, one(0xed), kLowSurrogate, kLost},
    {kLead3, kLost, kLostOrNot},
    {kLead3, kLostOrNot, kLost},
    {kLead4, kLost, kLostOrNot, kLostOrNot},
    {kLead4, kLostOrNot, kLost, kLostOrNot},
    {kLead4, kLostOrNot, kLostOrNot, kLost},
    {one(kSubstitute)},
};

// True for an à that keeps the space behind it, as a word of its own: not before Portuguese às and àquele, nor
// before a second space.
bool is_word_a_grave(std::string_view bytes, std::size_t at) {
  if (!bytes.substr(at).starts_with("\xc3 ")) return false;
  constexpr std::string_view kContinued[] = {" ", "quele", "quela", "quilo", "s "};
  const auto rest = bytes.substr(at + 2);
  return std::none_of(std::begin(kContinued), std::end(kContinued),
                      [rest](std::string_view word) { return rest.starts_with(word); });
}

std::string separate_a_grave(std::string_view bytes) {
  std::string result;
  for (std::size_t at = 0; at < bytes.size();) {
    const bool word = is_word_a_grave(bytes, at);
    result += word ? std::string_view("\xc3\xa0 ") : bytes.substr(at, 1);
    at += word ? 2 : 1;
  }
  return result;
}

std::size_t spaced_size(std::string_view bytes, std::size_t at) {
  const std::size_t pair = match(kSpacedPairs, bytes, at);
  return pair != 0 ? pair : match(kSpacedSequences, bytes, at);
}

// The character at `at`, which moves behind it; nothing if it is no UTF-8.
std::optional<char32_t> decode_strictly(std::string_view bytes, std::size_t& at) {
  const unsigned lead = byte_at(bytes, at);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size == 0 || lead > 0xf4) return std::nullopt;
  for (std::size_t i = 1; i < size; ++i)
    if (!kContinuation.matches(byte_at(bytes, at + i))) return std::nullopt;
  const char32_t c = next_character(bytes, at);
  const char32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0;
  if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return std::nullopt;
  return c;
}

// The two variants, at the `at` of a byte 0xC0 or 0xED. ftfy looks for the end of the text with a pattern that a
// line break before the end satisfies too, so that there one counts as the last byte.
std::optional<char32_t> decode_variant(std::string_view bytes, std::size_t& at) {
  const auto is_last = [&](std::size_t i) {
    return kContinuation.matches(byte_at(bytes, i)) || (i + 1 == bytes.size() && bytes[i] == '\n');
  };
  if (byte_at(bytes, at) == 0xc0 &&
      (byte_at(bytes, at + 1) == 0x80 || (at + 2 == bytes.size() && bytes[at + 1] == '\n'))) {
    at += 2;
    return U'\0';
  }
  const bool pair = byte_at(bytes, at) == 0xed && kHighSurrogate.matches(byte_at(bytes, at + 1)) &&
                    kContinuation.matches(byte_at(bytes, at + 2)) && byte_at(bytes, at + 3) == 0xed &&
                    kLowSurrogate.matches(byte_at(bytes, at + 4)) && is_last(at + 5);
  if (!pair) return std::nullopt;
  const char32_t c = 0x10000 + ((byte_at(bytes, at + 1) & 0x0fu) << 16) +
                     ((byte_at(bytes, at + 2) & 0x3fu) << 10) + ((byte_at(bytes, at + 4) & 0x0fu) << 6) +
                     (byte_at(bytes, at + 5) & 0x3fu);
  at += 6;
  return c;
}

}  // namespace

std::string restore_byte_a0(std::string_view bytes) {
  bool needed = false;
  for (std::size_t at = 0; at < bytes.size() && !needed; ++at) needed = spaced_size(bytes, at) != 0;
  if (!needed) return std::string(bytes);
  std::string result = separate_a_grave(bytes);
  for (std::size_t at = 0; at < result.size();) {
    const std::size_t size = std::max<std::size_t>(spaced_size(result, at), 1);
    if (size > 1) std::replace(result.begin() + at, result.begin() + at + size, ' ', '\xa0');
    at += size;
  }
  return result;
}

std::string replace_lossy_sequences(std::string_view bytes) {
  std::string result;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = match(kLossySequences, bytes, at);
    result += size != 0 ? std::string_view("\xef\xbf\xbd") : bytes.substr(at, 1);
    at += std::max<std::size_t>(size, 1);
  }
  return result;
}

std::optional<std::u32string> decode_utf8_variants(std::string_view bytes) {
  std::u32string result;
  for (std::size_t at = 0; at < bytes.size();) {
    auto c = decode_variant(bytes, at);
    if (!c) c = decode_strictly(bytes, at);
    if (!c) return std::nullopt;
    result += *c;
  }
  return result;
}

}  // namespace perfuse
