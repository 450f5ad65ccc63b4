// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace perfuse {

[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);
// Of a regular file's content, read through a map. Error(io) or Error(model) as MappedFile::open.
[[nodiscard]] std::string sha256_hex_of_file(const std::filesystem::path& file);

}  // namespace perfuse
