#include "perfuse/image/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <span>

#include "perfuse/image/png.h"
#include "perfuse/image/scale.h"
#include "perfuse/image/sixel.h"

namespace perfuse {
namespace {

constexpr std::size_t kKittyChunk = 4096;  // the protocol's limit for one escape sequence
// A cell's pixels are not known here; real cells are rarely smaller, so what is fitted to this fits.
constexpr int kCellWidth = 8, kCellHeight = 16;
// No screen has more; rows·kCellHeight then can't overflow.
constexpr int kMostCells = 10000;

using Pixel = std::array<std::uint8_t, 3>;

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = (group << 8) | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[(group >> (18 - 6 * j)) & 63u] : '=';
  }
  return text;
}

// Which side of a picture that does not fit must shrink to the given cells; the terminal follows with
// the other, so the sides' ratio is right whatever its cells are.
struct CellFit {
  bool by_columns = false, by_rows = false;
};
CellFit fit_in_cells(const Image& image, int columns, int rows) {
  const std::int64_t most_width = std::int64_t{columns} * kCellWidth,
                     most_height = std::int64_t{rows} * kCellHeight;
  if (image.width() <= most_width && image.height() <= most_height) return {};
  const bool by_columns = image.width() * most_height >= image.height() * most_width;
  return {by_columns, !by_columns};
}

std::string encode_kitty(const Image& image, int columns, int rows) {
  const std::string payload = base64(encode_png(image, {}, "picture for the terminal"));
  // a=T: send and show; f=100: PNG; q=2: no answers, which nobody would read
  std::string control = "a=T,f=100,q=2,";
  const CellFit fit = fit_in_cells(image, columns, rows);
  if (fit.by_columns) control += fmt::format("c={},", columns);
  if (fit.by_rows) control += fmt::format("r={},", rows);
  std::string out;
  for (std::size_t i = 0; i < payload.size(); i += kKittyChunk) {
    const bool more = i + kKittyChunk < payload.size();
    fmt::format_to(std::back_inserter(out), "\x1b_G{}m={};{}\x1b\\", i == 0 ? control : "", more ? 1 : 0,
                   std::string_view(payload).substr(i, kKittyChunk));
  }
  return out + '\n';
}

std::string encode_iterm2(const Image& image, int columns, int rows) {
  const auto png = encode_png(image, {}, "picture for the terminal");
  const CellFit fit = fit_in_cells(image, columns, rows);
  std::string size;
  if (fit.by_columns) size = fmt::format("width={};height=auto;", columns);
  if (fit.by_rows) size = fmt::format("width=auto;height={};", rows);
  return fmt::format("\x1b]1337;File=inline=1;size={};{}preserveAspectRatio=1:{}\a\n", png.size(), size,
                     base64(png));
}

// The nearest of xterm's colours 16…255: a 6×6×6 cube with these levels, then 24 greys.
int nearest_indexed(const Pixel& pixel) {
  constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
  const auto distance = [&](const std::array<int, 3>& color) {
    int sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += (pixel[c] - color[c]) * (pixel[c] - color[c]);
    return sum;
  };
  std::array<int, 3> level{}, cube{};
  for (std::size_t c = 0; c < 3; ++c) {
    const auto nearest = std::min_element(kLevels.begin(), kLevels.end(), [&](int a, int b) {
      return std::abs(a - pixel[c]) < std::abs(b - pixel[c]);
    });
    level[c] = static_cast<int>(nearest - kLevels.begin());
    cube[c] = *nearest;
  }
  const int mean = (pixel[0] + pixel[1] + pixel[2]) / 3;
  const int step = std::clamp((mean - 8 + 5) / 10, 0, 23);
  const int grey = 8 + 10 * step;
  if (distance({grey, grey, grey}) < distance(cube)) return 232 + step;
  return 16 + 36 * level[0] + 6 * level[1] + level[2];
}

// SGR parameters that set the foreground (38) or background (48).
std::string color_code(int ground, const Pixel& pixel, ColorDepth depth) {
  if (depth == ColorDepth::indexed) return fmt::format("{};5;{}", ground, nearest_indexed(pixel));
  return fmt::format("{};2;{};{};{}", ground, pixel[0], pixel[1], pixel[2]);
}

}  // namespace

std::string_view to_string(TerminalGraphics graphics) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "kitty", "iterm2", "sixel", "half_blocks"};
  return kNames.at(static_cast<std::size_t>(graphics));
}

ColorDepth color_depth(const EnvironmentLookup& environment) {
  const char* value = environment("COLORTERM");
  const std::string_view depth = value != nullptr ? value : "";
  return depth == "truecolor" || depth == "24bit" ? ColorDepth::truecolor : ColorDepth::indexed;
}

std::string encode_half_blocks(const Image& image, ColorDepth depth, int columns, int rows) {
  const Image small = fit_within(image, columns, 2 * rows);
  const auto pixel_at = [&](int x, int y) {
    const std::size_t i = 3 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(small.width()) +
                               static_cast<std::size_t>(x));
    return Pixel{small.rgb()[i], small.rgb()[i + 1], small.rgb()[i + 2]};
  };
  std::string out;
  for (int y = 0; y < small.height(); y += 2) {
    std::string last;
    for (int x = 0; x < small.width(); ++x) {
      // Below the last row of an odd height the terminal's own background (49) shows.
      const std::string lower = y + 1 < small.height() ? color_code(48, pixel_at(x, y + 1), depth) : "49";
      const std::string colors = color_code(38, pixel_at(x, y), depth) + ';' + lower;
      if (colors != last) out += "\x1b[" + colors + 'm';
      out += "▀";
      last = colors;
    }
    out += "\x1b[0m\n";
  }
  return out;
}

std::string encode_for_terminal(const Image& image, TerminalGraphics graphics, int columns, int rows) {
  columns = columns < 1 ? 80 : std::min(columns, kMostCells);
  rows = rows < 1 ? 24 : std::min(rows, kMostCells);
  if (image.empty()) return {};
  switch (graphics) {
    case TerminalGraphics::none: return {};
    case TerminalGraphics::kitty: return encode_kitty(image, columns, rows);
    case TerminalGraphics::iterm2: return encode_iterm2(image, columns, rows);
    case TerminalGraphics::sixel:
      return encode_sixel(fit_within(image, columns * kCellWidth, rows * kCellHeight)) + '\n';
    case TerminalGraphics::half_blocks: break;
  }
  return encode_half_blocks(image, color_depth([](const char* name) { return std::getenv(name); }), columns,
                            rows);
}

}  // namespace perfuse
