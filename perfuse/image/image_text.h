// Text that a picture file carries: the prompt and settings that made it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace perfuse {

// Key/value text, both UTF-8. A PNG holds each pair as tEXt where the value is Latin-1, as iTXt where
// it is other UTF-8; a JPEG holds all as one JSON comment.
using ImageText = std::map<std::string, std::string>;

// The most bytes of one value, written or read (after decompression), and of all values read together.
inline constexpr std::size_t kMostTextBytes = 16u << 20;
inline constexpr std::size_t kMostTotalTextBytes = 64u << 20;

// Error(usage) naming the key, unless every key is 1 to 79 printable Latin-1 characters without leading,
// trailing or doubled spaces (PNG's rule for keywords) and every value is UTF-8 without NUL, of at most
// kMostTextBytes.
void check_image_text(const ImageText& text);

// The text of a PNG or JPEG that Image::save wrote (or of any PNG; JPEG comments of other programs give
// no text). Error(io or model) for a file that can't be read, is neither, is truncated or damaged, or
// holds more text than the limits above.
[[nodiscard]] ImageText read_image_text(const std::filesystem::path& file);

// The same for a file's bytes; `origin` begins every message.
[[nodiscard]] ImageText parse_image_text(std::span<const std::byte> bytes, std::string_view origin);

// Printable Latin-1 and newlines as one byte each, nothing if `utf8` has other characters.
[[nodiscard]] std::optional<std::string> latin1_from_utf8(std::string_view utf8);
[[nodiscard]] std::string utf8_from_latin1(std::string_view latin1);

}  // namespace perfuse
