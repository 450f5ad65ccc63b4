#include "perfuse/image/sixel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <iterator>

#include "perfuse/image/palette.h"

namespace perfuse {
namespace {

constexpr std::size_t kBandRows = 6;
constexpr std::size_t kShortestRun = 4;  // "!4x" is as long as three of them

void append_run(std::string& out, std::size_t count, char sixel) {
  if (count < kShortestRun)
    out.append(count, sixel);
  else
    fmt::format_to(std::back_inserter(out), "!{}{}", count, sixel);
}

}  // namespace

std::string encode_sixel(const Image& image) {
  const Palette palette = quantize(image);
  const auto width = static_cast<std::size_t>(image.width()),
             height = static_cast<std::size_t>(image.height());
  // P2 = 1 leaves what no pixel covers as it is; then the pixels' shape 1:1 and the size.
  std::string out = fmt::format("\x1bP0;1;0q\"1;1;{};{}", width, height);
  const auto percent = [](int value) { return (value * 100 + 127) / 255; };
  for (std::size_t i = 0; i < palette.colors.size(); ++i) {
    const auto [r, g, b] = palette.colors[i];
    fmt::format_to(std::back_inserter(out), "#{};2;{};{};{}", i, percent(r), percent(g), percent(b));
  }
  for (std::size_t top = 0; top < height; top += kBandRows) {
    const std::size_t rows = std::min(kBandRows, height - top);
    const std::uint8_t* band = palette.indices.data() + top * width;
    std::bitset<256> used;
    for (std::size_t i = 0; i < rows * width; ++i) used.set(band[i]);
    for (std::size_t color = 0; color < palette.colors.size(); ++color) {
      if (!used.test(color)) continue;
      fmt::format_to(std::back_inserter(out), "#{}", color);
      char last = '?';
      std::size_t run = 0;
      for (std::size_t x = 0; x < width; ++x) {
        unsigned bits = 0;
        for (std::size_t y = 0; y < rows; ++y) bits |= unsigned{band[y * width + x] == color} << y;
        const auto sixel = static_cast<char>('?' + bits);
        if (sixel != last) {
          append_run(out, run, last);
          last = sixel;
          run = 0;
        }
        ++run;
      }
      if (last != '?') append_run(out, run, last);  // empty ones at the end need not be drawn
      out += '$';                                   // back to the band's start
    }
    out.back() = '-';  // next band
  }
  return out + "\x1b\\";
}

}  // namespace perfuse
