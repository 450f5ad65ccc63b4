// 8-bit RGB pictures: reading, writing, showing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "perfuse/tensor/tensor.h"

namespace perfuse {

// Key/value text that a PNG carries (tEXt for Latin-1, iTXt for other UTF-8); JPEG holds it as one JSON comment.
using ImageText = std::map<std::string, std::string>;

class Image {
 public:
  Image() = default;
  // `rgb` holds width·height·3 bytes, rows from the top.
  Image(int width, int height, std::vector<std::uint8_t> rgb);
  // [H, W, 3] f32 in 0…1 -> round(255·x), half to even, as diffusers' numpy_to_pil. Error(usage) for
  // other shapes; Error(model) if a value is NaN or infinite: never a silently black picture.
  [[nodiscard]] static Image from_tensor(const Tensor& tensor);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] std::span<const std::uint8_t> rgb() const { return rgb_; }

  // PNG or JPEG (quality 95) by the suffix .png, .jpg, .jpeg (any case); Error(usage) for another.
  // Written whole or not at all.
  void save(const std::filesystem::path& file, const ImageText& text = {}) const;

 private:
  int width_ = 0, height_ = 0;
  std::vector<std::uint8_t> rgb_;
};

// Error(usage) unless `file` ends in a suffix that Image::save takes.
void check_image_suffix(const std::filesystem::path& file);

// The text of a PNG or JPEG that Image::save wrote (or any PNG's); hostile files give Error(model),
// chunks over 16 MB are refused.
[[nodiscard]] ImageText read_image_text(const std::filesystem::path& file);

// How a terminal shows pictures.
enum class TerminalGraphics { none, kitty, iterm2, sixel, half_blocks };
// From the environment (TERM, TERM_PROGRAM, KITTY_WINDOW_ID, COLORTERM, …) and, where the terminal
// can be asked, its device attributes; `none` when `fd` is not a terminal.
[[nodiscard]] TerminalGraphics detect_terminal_graphics(int fd);
// The bytes to print; scaled down to fit `columns` × `rows` character cells for half_blocks and sixel.
[[nodiscard]] std::string encode_for_terminal(const Image& image, TerminalGraphics graphics, int columns, int rows);

}  // namespace perfuse
