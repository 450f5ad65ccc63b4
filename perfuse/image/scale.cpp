#include "perfuse/image/scale.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace perfuse {
namespace {

// round(a·b / c), at least 1
int scaled_side(int a, int b, int c) {
  return static_cast<int>(std::max<std::int64_t>(1, (2 * std::int64_t{a} * b + c) / (2 * std::int64_t{c})));
}

struct Share {
  std::size_t position;
  float weight;
};

// For each of `wanted` equal parts of `count` positions: the positions that it covers, and how much of
// it each makes up.
std::vector<std::vector<Share>> shares(int count, int wanted) {
  const double size = static_cast<double>(count) / wanted;
  std::vector<std::vector<Share>> parts(static_cast<std::size_t>(wanted));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double begin = static_cast<double>(i) * size, end = begin + size;
    for (int j = static_cast<int>(begin); j < count && j < end; ++j) {
      const double covered = std::min<double>(end, j + 1) - std::max<double>(begin, j);
      parts[i].push_back({static_cast<std::size_t>(j), static_cast<float>(covered / size)});
    }
  }
  return parts;
}

}  // namespace

Image fit_within(const Image& image, int most_width, int most_height) {
  if (image.width() <= most_width && image.height() <= most_height) return image;
  const bool width_binds =
      std::int64_t{image.width()} * most_height >= std::int64_t{image.height()} * most_width;
  const int width = width_binds ? most_width : scaled_side(image.width(), most_height, image.height());
  const int height = width_binds ? scaled_side(image.height(), most_width, image.width()) : most_height;
  const auto columns = shares(image.width(), width), rows = shares(image.height(), height);
  const auto source = image.rgb();
  const auto source_width = static_cast<std::size_t>(image.width());

  std::vector<std::uint8_t> rgb;
  rgb.reserve(std::size_t{3} * columns.size() * rows.size());
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      for (std::size_t c = 0; c < 3; ++c) {
        float sum = 0;
        for (const Share& y : row)
          for (const Share& x : column)
            sum += y.weight * x.weight *
                   static_cast<float>(source[3 * (y.position * source_width + x.position) + c]);
        rgb.push_back(static_cast<std::uint8_t>(std::clamp(std::round(sum), 0.0f, 255.0f)));
      }
    }
  }
  return Image(width, height, std::move(rgb));
}

}  // namespace perfuse
