#include "perfuse/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <utility>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

constexpr std::size_t kMostNameBytes = 200;  // longer names are not typing mistakes, and cost n² to compare
constexpr std::size_t kMostListed = 20;

// Length of the valid UTF-8 sequence that `text` begins with; 0 if it begins with none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  // The second byte's range excludes overlong forms, surrogates and what is over U+10FFFF.
  const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  return length;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Insertions, deletions, replacements and swaps of neighbours ("hieght" is 1 from "height").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto length = sequence_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

std::vector<std::string> near_names(std::string_view name, std::span<const std::string> known) {
  if (name.empty() || name.size() > kMostNameBytes) return {};
  const std::string wanted = lower(name);
  const std::size_t limit = std::min<std::size_t>(5, 1 + wanted.size() / 4);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& candidate : known) {
    const std::string other = lower(candidate);
    const auto difference = std::max(other.size(), wanted.size()) - std::min(other.size(), wanted.size());
    if (wanted.size() >= 3 && other.starts_with(wanted))
      found.emplace_back(std::min(difference, limit), candidate);
    else if (difference <= limit && other.size() <= kMostNameBytes)
      if (const auto distance = edit_distance(wanted, other); distance <= limit)
        found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : found)
    if (result.size() < 3 && std::find(result.begin(), result.end(), candidate) == result.end())
      result.push_back(candidate);
  return result;
}

std::string unknown_name(std::string_view what, std::string_view name, std::span<const std::string> known) {
  std::string message = fmt::format("unknown {} {}", what, quote(name));
  if (const auto near = near_names(name, known); !near.empty())
    return message + fmt::format("; did you mean {}?", fmt::join(near, " or "));
  if (known.empty()) return message;
  const auto listed = known.first(std::min(known.size(), kMostListed));
  message += fmt::format("; known: {}", fmt::join(listed, ", "));
  if (known.size() > listed.size()) message += fmt::format(" and {} more", known.size() - listed.size());
  return message;
}

std::string quote(std::string_view text, std::size_t most) {
  std::string result = "\"";
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++characters) {
    if (characters == most) {
      result += "…";
      break;
    }
    const auto length = sequence_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    // C1 controls (U+0080…U+009F, led by 0xc2) drive a terminal as much as C0 ones do.
    const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte == '\n')
      result += "\\n";
    else if (byte == '\r')
      result += "\\r";
    else if (byte == '\t')
      result += "\\t";
    else if (byte == '"' || byte == '\\')
      (result += '\\') += text[i];
    else if (c1)
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[i + 1]));
    else if (length == 0 || byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\x{:02x}", byte);
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result += '"';
}

std::string plain_or_quoted(std::string_view text, std::size_t most) {
  const auto is_control = [&](std::size_t i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && text[i - 1] == '\xc2';
    return byte < 0x20 || byte == 0x7f || c1;
  };
  bool plain = text.size() <= most && !find_invalid_utf8(text);
  for (std::size_t i = 0; plain && i < text.size(); ++i) plain = !is_control(i);
  return plain ? std::string(text) : quote(text, most);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  constexpr std::array<std::string_view, 6> kUnits{"KB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000.0;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  // Two digits are enough below ten ("1.5 GB"), and a trailing ".0" says nothing.
  const std::string digits = fmt::format("{:.{}f}", value, value < 9.95 ? 1 : 0);
  const bool whole = digits.ends_with(".0");
  return fmt::format("{} {}", whole ? digits.substr(0, digits.size() - 2) : digits, kUnits[unit]);
}

std::uint64_t parse_bytes(std::string_view what, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{{{"b", 1},
                                                                       {"kb", 1e3},
                                                                       {"mb", 1e6},
                                                                       {"gb", 1e9},
                                                                       {"tb", 1e12},
                                                                       {"kib", 0x1p10},
                                                                       {"mib", 0x1p20},
                                                                       {"gib", 0x1p30},
                                                                       {"tib", 0x1p40}}};
  constexpr double kMost = 0x1p60;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  for (auto& c : unit) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (error == std::errc{} && number == 0 && unit.empty()) return 0;
  if (error == std::errc{} && number >= 0)
    for (const auto& [name, factor] : kUnits)
      if (unit == name && number * factor <= kMost) return static_cast<std::uint64_t>(number * factor);
  fail(ErrorKind::usage, "{}: expected a size with its unit, such as 500MB or 20GiB, found {}", what,
       quote(text));
}

}  // namespace perfuse
