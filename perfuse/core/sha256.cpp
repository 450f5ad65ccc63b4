#include "perfuse/core/sha256.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"

namespace perfuse {

std::string sha256_hex(std::span<const std::byte> bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, ::EVP_sha256(), nullptr) != 1 ||
      size != digest.size())
    fail(ErrorKind::unsupported, "libcrypto refuses SHA-256 (its configuration may forbid it)");
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256_hex_of_file(const std::filesystem::path& file) {
  return sha256_hex(MappedFile::open(file)->bytes());
}

}  // namespace perfuse
