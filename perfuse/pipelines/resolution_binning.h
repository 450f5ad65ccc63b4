// PixArt's training sizes: a wanted size is drawn at the nearest of them, then resized.
#pragma once

#include <cstdint>
#include <optional>

namespace perfuse {

struct PixelSize {
  std::int64_t height = 0, width = 0;
  friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

// The size with the nearest ratio of height to width in the table of a transformer's sample_size (32, 64, 128, 256),
// or nothing where that sample_size has no table: then the wanted size is used as it is.
[[nodiscard]] std::optional<PixelSize> nearest_bin(std::int64_t sample_size, PixelSize wanted);

}  // namespace perfuse
