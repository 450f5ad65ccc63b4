// Showing a picture in a terminal: which way the terminal understands, and the bytes for it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "perfuse/image/image.h"

namespace perfuse {

// How a terminal shows pictures: kitty's graphics protocol, iTerm2's inline files, sixel, or ▀ with
// two colours a character cell.
enum class TerminalGraphics { none, kitty, iterm2, sixel, half_blocks };

// "none", "kitty", "iterm2", "sixel", "half_blocks".
[[nodiscard]] std::string_view to_string(TerminalGraphics graphics);

// From the environment (TERM, TERM_PROGRAM, KITTY_WINDOW_ID, COLORTERM, …) and, where the terminal
// can be asked, its device attributes; `none` when `fd` is not a terminal.
[[nodiscard]] TerminalGraphics detect_terminal_graphics(int fd);

// The bytes to print, ended by a newline; "" for `none` and an empty picture. A picture larger than
// `columns` × `rows` character cells is scaled down to fit (by area averaging; kitty and iTerm2 scale
// themselves). Sizes under 1, as a terminal reports that does not know its own, mean 80 × 24.
[[nodiscard]] std::string encode_for_terminal(const Image& image, TerminalGraphics graphics, int columns,
                                              int rows);

// The parts of the above, apart so that each can be tested.

// Value of an environment variable, or null.
using EnvironmentLookup = std::function<const char*(const char* name)>;

struct EnvironmentFinding {
  TerminalGraphics graphics;  // to use if the terminal is not asked, or does not know sixel
  bool ask_for_sixel;         // the terminal may know better
};
[[nodiscard]] EnvironmentFinding graphics_from_environment(const EnvironmentLookup& environment);

// Writes the question for the primary device attributes (DA1) to terminal `out` and reads the answer
// from terminal `in`; "" where one is not a terminal, this process is in the background, typed input
// waits (it would be lost), or no answer came in time. The terminal's modes are restored.
[[nodiscard]] std::string ask_device_attributes(int in, int out, std::chrono::milliseconds timeout);

// True if a DA1 answer (ESC [ ? 62 ; 4 ; … c) lists attribute 4, sixel.
[[nodiscard]] bool attributes_list_sixel(std::string_view answer);

// Half blocks in 24-bit colours, or in xterm's 256.
enum class ColorDepth { indexed, truecolor };
[[nodiscard]] ColorDepth color_depth(const EnvironmentLookup& environment);
[[nodiscard]] std::string encode_half_blocks(const Image& image, ColorDepth depth, int columns, int rows);

}  // namespace perfuse
