// JPEG: 8-bit pictures with the text as a JSON comment.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "perfuse/image/image.h"

namespace perfuse {

// The file's bytes at `quality` 1…100, colour at full resolution (4:4:4: halved colour smears red
// edges). `origin` begins every message.
[[nodiscard]] std::vector<std::byte> encode_jpeg(const Image& image, const ImageText& text, int quality,
                                                 std::string_view origin);

[[nodiscard]] bool is_jpeg(std::span<const std::byte> bytes);

// The comment that encode_jpeg wrote, of a file for which is_jpeg holds; empty if there is none.
[[nodiscard]] ImageText parse_jpeg_text(std::span<const std::byte> bytes, std::string_view origin);

}  // namespace perfuse
