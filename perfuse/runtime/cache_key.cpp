#include "perfuse/runtime/cache_key.h"

#include <fmt/format.h>

#include <span>

#include "perfuse/core/sha256.h"
#include "perfuse/core/text.h"

namespace perfuse::runtime {
namespace {

constexpr std::size_t kPrefixDigits = 16;
constexpr std::size_t kMostProgramDigits = 128;
constexpr std::size_t kMostQuoted = 200;

std::string_view words_for(std::string_view part) {
  if (part == "backend") return "by another backend";
  if (part == "compiler") return "by another compiler";
  if (part == "target") return "for another target";
  if (part == "options") return "with other options";
  return "from another program";
}

std::string brief_part(const std::string& text) {
  return text.empty() ? "none" : plain_or_quoted(text, kMostQuoted);
}

}  // namespace

std::string fault_of(const CacheKey& key) {
  const bool hexadecimal = key.program.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hexadecimal || key.program.size() < kPrefixDigits || key.program.size() > kMostProgramDigits)
    return fmt::format("program: expected {} to {} hexadecimal digits, found {}", kPrefixDigits,
                       kMostProgramDigits, quote(key.program));
  for (const auto& [name, value] : kCacheKeyParts)
    if (find_invalid_utf8(key.*value))
      return fmt::format("{}: {} is not valid UTF-8", name, quote(key.*value));
  return "";
}

std::string hash_of(const CacheKey& key) {
  // Sizes are hashed too, else text could move from one part to the next unseen.
  std::string text = "perfuse compile cache, format 1\n";
  for (const auto& [name, value] : kCacheKeyParts)
    text += fmt::format("{} {}\n{}\n", name, (key.*value).size(), key.*value);
  return sha256_hex(std::as_bytes(std::span(text)));
}

std::string entry_prefix(const CacheKey& key) { return key.program.substr(0, kPrefixDigits) + '-'; }

std::filesystem::path entry_path(const CacheKey& key) {
  return std::filesystem::path(key.program.substr(0, 2)) / (entry_prefix(key) + hash_of(key) + ".pfc");
}

int count_differences(const CacheKey& entry, const CacheKey& wanted) {
  int count = 0;
  for (const auto& [name, value] : kCacheKeyParts) count += entry.*value == wanted.*value ? 0 : 1;
  return count;
}

std::string describe_differences(const CacheKey& entry, const CacheKey& wanted) {
  std::string text;
  for (const auto& [name, value] : kCacheKeyParts)
    if (entry.*value != wanted.*value)
      text += fmt::format("{}{} ({}; now: {})", text.empty() ? "" : ", ", words_for(name),
                          brief_part(entry.*value), brief_part(wanted.*value));
  return text;
}

}  // namespace perfuse::runtime
