#include "perfuse/tokenizers/single_byte_set.h"

#include <algorithm>
#include <vector>

namespace perfuse {
namespace {

// Of one set after the other, in kNames' order.
constexpr char16_t kUpperHalves[] = {
#include "perfuse/tokenizers/single_byte_sets.inc"
};

constexpr char kSubstitute = 0x1a;

std::vector<NamedSet> make_sets() {
  constexpr std::string_view kNames[] = {"windows-1252", "windows-1251", "windows-1250",
                                         "windows-1253", "windows-1254", "windows-1257",
                                         "iso-8859-2",   "macroman",     "cp437"};
  constexpr std::size_t kHalf = 128;
  static_assert(std::size(kUpperHalves) == std::size(kNames) * kHalf);
  std::array<char16_t, kHalf> latin_1;
  for (std::size_t i = 0; i < latin_1.size(); ++i) latin_1[i] = static_cast<char16_t>(0x80 + i);
  std::vector<NamedSet> sets{{"latin-1", {SingleByteSet::Kind::exact, latin_1}}};
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const auto kind =
        kNames[i].starts_with("windows") ? SingleByteSet::Kind::windows : SingleByteSet::Kind::exact;
    sets.push_back({kNames[i], {kind, std::span(kUpperHalves).subspan(i * kHalf).first<kHalf>()}});
  }
  return sets;
}

}  // namespace

SingleByteSet::SingleByteSet(Kind kind, std::span<const char16_t, 128> upper_half) : kind_(kind) {
  std::copy(upper_half.begin(), upper_half.end(), upper_half_.begin());
  for (std::size_t i = 0; i < upper_half_.size(); ++i)
    by_character_[i] = {upper_half_[i], static_cast<char>(0x80 + i)};
  std::sort(by_character_.begin(), by_character_.end());
}

std::optional<char> SingleByteSet::encode(char32_t c) const {
  if (kind_ == Kind::windows && c == 0xfffd) return kSubstitute;
  if (kind_ == Kind::windows && c == static_cast<char32_t>(kSubstitute)) return std::nullopt;
  if (c < 0x80) return static_cast<char>(c);
  const auto found = std::lower_bound(by_character_.begin(), by_character_.end(), c,
                                      [](const auto& entry, char32_t key) { return entry.first < key; });
  return found != by_character_.end() && found->first == c ? std::optional(found->second) : std::nullopt;
}

std::optional<std::string> SingleByteSet::encode(std::u32string_view text) const {
  std::string bytes;
  for (const char32_t c : text) {
    const auto byte = encode(c);
    if (!byte) return std::nullopt;
    bytes += *byte;
  }
  return bytes;
}

std::span<const NamedSet> mojibake_sets() {
  static const std::vector<NamedSet> sets = make_sets();
  return sets;
}

const SingleByteSet& windows_1252() { return mojibake_sets()[1].set; }

}  // namespace perfuse
