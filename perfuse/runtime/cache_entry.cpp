#include "perfuse/runtime/cache_entry.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <tuple>
#include <utility>

#include "perfuse/core/json.h"
#include "perfuse/core/sha256.h"
#include "perfuse/core/text.h"
#include "perfuse/runtime/cache_temporary.h"

namespace perfuse::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic("\x89PFC\r\n\x1a\n", 8);
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kFixedBytes = 16 + kHashDigits;
constexpr std::size_t kAlignment = 64;  // of the payload, in the file and so in memory
constexpr std::uint32_t kMostHeaderBytes = 1u << 20;

template <class... Args>
[[noreturn]] void damaged(const fs::path& file, fmt::format_string<Args...> format, Args&&... args) {
  throw DamagedEntry(fmt::format("{}: not a whole cache entry: {}", display(file),
                                 fmt::format(format, std::forward<Args>(args)...)));
}

std::uint32_t read_u32(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(bytes[offset + i]) << (8 * i);
  return value;
}

void append_u32(std::string& text, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) text += static_cast<char>(value >> (8 * i));
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

EntryHeader parse_header(std::string_view text, const fs::path& file) {
  try {
    const ConfigReader json(parse_json(text, display(file)), display(file));
    EntryHeader header;
    for (const auto& [name, value] : kCacheKeyParts) header.key.*value = json.string(name);
    header.label = json.string("label");
    header.created = json.string("created");
    header.payload_bytes = static_cast<std::uint64_t>(json.integer("payload_bytes", 0, INT64_MAX));
    header.payload_sha256 = json.string("payload_sha256");
    header.tried = json.boolean("tried");
    if (const auto fault = fault_of(header.key); !fault.empty()) damaged(file, "{}", fault);
    return header;
  } catch (const DamagedEntry&) {
    throw;
  } catch (const Error& error) {
    throw DamagedEntry(error.what());
  }
}

// Header and payload of the file's bytes; all but the payload's content is checked.
std::pair<EntryHeader, std::span<const std::byte>> split(std::span<const std::byte> bytes,
                                                         const fs::path& file) {
  if (bytes.size() < kFixedBytes)
    damaged(file, "has {}, expected at least {}", format_bytes(bytes.size()), format_bytes(kFixedBytes));
  if (as_text(bytes.first(kMagic.size())) != kMagic) damaged(file, "it does not begin as one");
  if (const auto version = read_u32(bytes, 8); version != kVersion)
    damaged(file, "its format is {}, expected {}", version, kVersion);
  const std::size_t size = read_u32(bytes, 12);
  if (size > kMostHeaderBytes || size > bytes.size() - kFixedBytes)
    damaged(file, "a header of {} is announced, the file has {}", format_bytes(size),
            format_bytes(bytes.size()));
  const auto text = bytes.subspan(kFixedBytes, size);
  if (sha256_hex(text) != as_text(bytes.subspan(16, kHashDigits)))
    damaged(file, "the header does not have the SHA-256 that is written before it");
  EntryHeader header = parse_header(as_text(text), file);
  const auto payload = bytes.subspan(kFixedBytes + size);
  if (payload.size() != header.payload_bytes)
    damaged(file, "has {} of payload, expected {}", format_bytes(payload.size()),
            format_bytes(header.payload_bytes));
  return {std::move(header), payload};
}

// What precedes the payload.
std::string head_of(const EntryHeader& header) {
  Json json;
  for (const auto& [name, value] : kCacheKeyParts) json[std::string(name)] = header.key.*value;
  json["label"] = header.label;
  json["created"] = header.created;
  json["payload_bytes"] = header.payload_bytes;
  json["payload_sha256"] = header.payload_sha256;
  json["tried"] = header.tried;
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  const std::size_t whole = (kFixedBytes + text.size() + kAlignment - 1) / kAlignment * kAlignment;
  text.resize(whole - kFixedBytes, ' ');
  std::string head(kMagic);
  append_u32(head, kVersion);
  append_u32(head, static_cast<std::uint32_t>(text.size()));
  return head + sha256_hex(std::as_bytes(std::span(text))) + text;
}

}  // namespace

CacheEntry CacheEntry::open(const fs::path& file) {
  CacheEntry entry;
  entry.file_ = MappedFile::open(file);
  std::tie(entry.header_, entry.payload_) = split(entry.file_->bytes(), file);
  if (const auto sum = sha256_hex(entry.payload_); sum != entry.header_.payload_sha256)
    damaged(file, "the payload's SHA-256 is {}, expected {}", sum, quote(entry.header_.payload_sha256, 64));
  return entry;
}

EntryHeader read_entry_header(const fs::path& file) {
  const auto mapped = MappedFile::open(file);
  return split(mapped->bytes(), file).first;
}

EntryHeader make_entry_header(const CacheKey& key, const std::string& label,
                              std::span<const std::byte> payload) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return {
      key, label, fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)), payload.size(), sha256_hex(payload),
      true};
}

std::error_code write_entry(const fs::path& file, const EntryHeader& header,
                            std::span<const std::byte> payload) {
  CacheTemporary out(file.parent_path());
  const std::string head = head_of(header);
  if (!out.error()) out.write(std::as_bytes(std::span(head)));
  if (!out.error()) out.write(payload);
  if (!out.error()) out.commit(file);
  return out.error();
}

}  // namespace perfuse::runtime
