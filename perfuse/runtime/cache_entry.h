// The file format of one cache entry.
//
//   bytes 0…7      magic: not text, and damaged by whatever converts line ends
//         8…11     format version, little-endian
//        12…15     size of the header, little-endian; header and what is before it are a multiple of 64 bytes
//        16…79     SHA-256 of the header, in hexadecimal digits
//        80…       header: JSON, padded with spaces: every part of the key, label, created, payload_bytes,
//                  payload_sha256, tried
//         …        payload, to the end of the file
//
// Nothing in it is believed before it is checked: sizes against the file's, header and payload against their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/runtime/cache_key.h"

namespace perfuse::runtime {

struct EntryHeader {
  CacheKey key;
  std::string label;    // component and segment, for people
  std::string created;  // "2026-12-04T21:57:03Z"
  std::uint64_t payload_bytes = 0;
  std::string payload_sha256;
  // False for what came from elsewhere and has not been loaded here yet: loading is tried in another process first.
  bool tried = true;
};

// The file is no whole, unchanged entry (as opposed to Error(io): it can't be read).
class DamagedEntry : public Error {
 public:
  explicit DamagedEntry(const std::string& message) : Error(ErrorKind::io, message) {}
};

// An entry, mapped and checked to the last byte.
class CacheEntry {
 public:
  // DamagedEntry or Error(io), naming the file.
  [[nodiscard]] static CacheEntry open(const std::filesystem::path& file);

  [[nodiscard]] const EntryHeader& header() const { return header_; }
  // Valid as long as this object, also when the file is removed or replaced meanwhile.
  [[nodiscard]] std::span<const std::byte> payload() const { return payload_; }

 private:
  CacheEntry() = default;
  std::shared_ptr<const MappedFile> file_;
  EntryHeader header_;
  std::span<const std::byte> payload_;
};

// The header alone; the payload's size is checked, its content not. Errors as CacheEntry::open.
[[nodiscard]] EntryHeader read_entry_header(const std::filesystem::path& file);

// A header for a new entry: sum and size of the payload, the present time.
[[nodiscard]] EntryHeader make_entry_header(const CacheKey& key, const std::string& label,
                                            std::span<const std::byte> payload);

// Writes the entry aside in the same folder, which exists, and renames it: `file` is the old one or the whole new one at
// any moment. The error is the first that the system gave; then nothing is left behind.
[[nodiscard]] std::error_code write_entry(const std::filesystem::path& file, const EntryHeader& header,
                                          std::span<const std::byte> payload);

}  // namespace perfuse::runtime
