#include "perfuse/image/image.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"
#include "perfuse/image/jpeg.h"
#include "perfuse/image/png.h"

namespace perfuse {
namespace {

constexpr int kJpegQuality = 95;

ImageFormat format_of(const std::filesystem::path& file) {
  if (const auto format = image_format_of(file)) return *format;
  const std::string suffix = file.extension().string();
  const std::string found = suffix.empty() ? "no suffix" : "the suffix " + quote(suffix);
  fail(ErrorKind::usage, "{}: the name has {}; pictures are written as .png, .jpg or .jpeg", display(file),
       found);
}

}  // namespace

std::string_view suffix_of(ImageFormat format) { return format == ImageFormat::png ? ".png" : ".jpg"; }

std::optional<ImageFormat> image_format_of(const std::filesystem::path& file) {
  std::string suffix = file.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (suffix == ".png") return ImageFormat::png;
  if (suffix == ".jpg" || suffix == ".jpeg") return ImageFormat::jpeg;
  return std::nullopt;
}

Image::Image(int width, int height, std::vector<std::uint8_t> rgb)
    : width_(width), height_(height), rgb_(std::move(rgb)) {
  if (width < 1 || height < 1)
    fail(ErrorKind::usage, "a picture of {}×{} pixels: both sides must be 1 or more", width, height);
  const std::uint64_t wanted =
      std::uint64_t{3} * static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  if (rgb_.size() != wanted)
    fail(ErrorKind::usage, "a picture of {}×{} pixels takes {} bytes, got {}", width, height, wanted,
         rgb_.size());
}

Image Image::from_tensor(const Tensor& tensor) {
  constexpr std::int64_t kMostSide = std::numeric_limits<int>::max();
  const Shape& shape = tensor.shape();
  const bool fits = shape.size() == 3 && shape[2] == 3 && shape[0] >= 1 && shape[0] <= kMostSide &&
                    shape[1] >= 1 && shape[1] <= kMostSide && tensor.dtype() == DType::f32;
  if (!fits)
    fail(ErrorKind::usage, "a picture is made from an f32 tensor [height, width, 3], got {} {}",
         to_string(tensor.dtype()), to_string(shape));
  const auto values = tensor.data<float>();
  std::vector<std::uint8_t> rgb(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      const auto pixel = static_cast<std::int64_t>(i / 3);
      fail(ErrorKind::model,
           "the picture has the value {} at row {}, column {}, channel {}: the weights are broken, or a "
           "half-precision type overflowed (f32 would show which)",
           values[i], pixel / shape[1], pixel % shape[1], i % 3);
    }
    // nearbyint rounds half to even in the default rounding mode, as numpy's round does
    rgb[i] = static_cast<std::uint8_t>(std::nearbyint(std::clamp(values[i], 0.0f, 1.0f) * 255.0f));
  }
  return Image(static_cast<int>(shape[1]), static_cast<int>(shape[0]), std::move(rgb));
}

std::vector<std::byte> Image::encode(ImageFormat format, const ImageText& text,
                                     const std::string& origin) const {
  if (empty()) fail(ErrorKind::usage, "{}: there is no picture to write", origin);
  check_image_text(text);
  return format == ImageFormat::png ? encode_png(*this, text, origin)
                                    : encode_jpeg(*this, text, kJpegQuality, origin);
}

void Image::save(const std::filesystem::path& file, const ImageText& text) const {
  write_file(file, encode(format_of(file), text, display(file)));
}

void check_image_suffix(const std::filesystem::path& file) { static_cast<void>(format_of(file)); }

}  // namespace perfuse
