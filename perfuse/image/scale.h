#pragma once

#include "perfuse/image/image.h"

namespace perfuse {

// The picture scaled down by area averaging, its sides' ratio kept, to at most the given size (each at
// least 1 pixel); as it is where it fits.
[[nodiscard]] Image fit_within(const Image& image, int most_width, int most_height);

}  // namespace perfuse
