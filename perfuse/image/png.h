// PNG: 8-bit RGB pictures with text chunks.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "perfuse/image/image.h"

namespace perfuse {

// The file's bytes; `text` has passed check_image_text. `origin` begins every message.
[[nodiscard]] std::vector<std::byte> encode_png(const Image& image, const ImageText& text,
                                                std::string_view origin);

[[nodiscard]] bool is_png(std::span<const std::byte> bytes);

// tEXt, zTXt and iTXt chunks of a file for which is_png holds; of equal keys the last counts. Every
// chunk's length and checksum is verified up to IEND.
[[nodiscard]] ImageText parse_png_text(std::span<const std::byte> bytes, std::string_view origin);

}  // namespace perfuse
