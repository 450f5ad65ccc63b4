#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "perfuse/image/image.h"

namespace perfuse {

struct Palette {
  std::vector<std::array<std::uint8_t, 3>> colors;
  std::vector<std::uint8_t> indices;  // one a pixel, into `colors`
};

// At most 256 colours for the picture, without dithering: colours are counted in 32×32×32 bins, and
// the group of bins with the largest squared error is divided at its mean until there are enough.
[[nodiscard]] Palette quantize(const Image& image);

}  // namespace perfuse
