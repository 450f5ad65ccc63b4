// 8-bit RGB pictures: reading, writing. How a terminal shows one is in terminal.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/image/image_text.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {

enum class ImageFormat { png, jpeg };
// ".png"; ".jpg"
[[nodiscard]] std::string_view suffix_of(ImageFormat format);
// By the suffix .png, .jpg or .jpeg (any case); nothing for another.
[[nodiscard]] std::optional<ImageFormat> image_format_of(const std::filesystem::path& file);

class Image {
 public:
  Image() = default;
  // `rgb` holds width·height·3 bytes, rows from the top. Error(usage) unless both sides are 1 or more
  // and `rgb` has that size.
  Image(int width, int height, std::vector<std::uint8_t> rgb);
  // [H, W, 3] f32 in 0…1 -> round(255·x), half to even, as diffusers' numpy_to_pil; values beyond 0…1
  // are clamped. Error(usage) for other shapes; Error(model) if a value is NaN or infinite: never a
  // silently black picture.
  [[nodiscard]] static Image from_tensor(const Tensor& tensor);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] bool empty() const { return rgb_.empty(); }
  [[nodiscard]] std::span<const std::uint8_t> rgb() const { return rgb_; }

  // PNG or JPEG (quality 95) by the suffix .png, .jpg, .jpeg (any case); Error(usage) for another, and
  // for text that check_image_text refuses. Written whole or not at all; the same picture and text give
  // the same bytes.
  void save(const std::filesystem::path& file, const ImageText& text = {}) const;
  // The bytes of such a file; `origin` begins the messages.
  [[nodiscard]] std::vector<std::byte> encode(ImageFormat format, const ImageText& text,
                                              const std::string& origin) const;

 private:
  int width_ = 0, height_ = 0;
  std::vector<std::uint8_t> rgb_;
};

// Error(usage) unless `file` ends in a suffix that Image::save takes.
void check_image_suffix(const std::filesystem::path& file);

}  // namespace perfuse
