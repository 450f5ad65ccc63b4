// Any bytes given to parse_image_text are read, or refused with Error(model). Each input is tried as it
// is and with the checksums of its PNG chunks made right: a mutation never would find them.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/image/image_text.h"

namespace {

constexpr std::size_t kSignature = 8, kFrame = 12;  // a chunk's length, type and checksum

void parse(std::span<const std::uint8_t> bytes) {
  try {
    static_cast<void>(perfuse::parse_image_text(std::as_bytes(bytes), "input"));
  } catch (const perfuse::Error& error) {
    if (error.kind() != perfuse::ErrorKind::model) std::abort();
  }
}

void repair_checksums(std::span<std::uint8_t> bytes) {
  for (std::size_t i = kSignature; i < bytes.size() && bytes.size() - i >= kFrame;) {
    std::size_t length = 0;
    for (std::size_t j = 0; j < 4; ++j) length = length << 8 | bytes[i + j];
    if (length > bytes.size() - i - kFrame) return;
    const auto sum = crc32_z(0, &bytes[i + 4], length + 4);
    for (std::size_t j = 0; j < 4; ++j)
      bytes[i + 8 + length + j] = static_cast<std::uint8_t>(sum >> (24 - 8 * j));
    i += kFrame + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  parse(std::span(data, size));
  std::vector<std::uint8_t> repaired(data, data + size);
  repair_checksums(repaired);
  parse(repaired);
  return 0;
}
