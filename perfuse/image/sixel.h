#pragma once

#include <string>

#include "perfuse/image/image.h"

namespace perfuse {

// A sixel string in at most 256 colours, chosen for the picture: DCS, palette, bands of six rows, ST.
[[nodiscard]] std::string encode_sixel(const Image& image);

}  // namespace perfuse
