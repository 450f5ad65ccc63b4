#include "perfuse/image/postprocess.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

void check_type(const Tensor& tensor, const char* what) {
  const DType type = tensor.dtype();
  if (type != DType::f32 && type != DType::bf16 && type != DType::f16)
    fail(ErrorKind::usage, "{} takes f32, bf16 or f16, got {}", what, to_string(type));
}

// The two source positions and their weights for output positions begin…end−1 along one axis, as torch
// computes them in f32 where the size (not the factor) is given.
struct Tap {
  std::int64_t first, second;
  float first_weight, second_weight;
};
std::vector<Tap> bilinear_taps(std::int64_t in, std::int64_t out, std::int64_t begin, std::int64_t end) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Tap> taps;
  for (std::int64_t i = begin; i < end; ++i) {
    if (in == out) {
      taps.push_back({i, i, 1.0f, 0.0f});
      continue;
    }
    const float source = std::max(scale * (static_cast<float>(i) + 0.5f) - 0.5f, 0.0f);
    const std::int64_t first = std::min(static_cast<std::int64_t>(source), in - 1);
    const float weight = std::clamp(source - static_cast<float>(first), 0.0f, 1.0f);
    taps.push_back({first, std::min(first + 1, in - 1), 1.0f - weight, weight});
  }
  return taps;
}

}  // namespace

Tensor denormalize_to_nhwc(const Tensor& decoded) {
  check_type(decoded, "denormalize_to_nhwc");
  const bool is_nchw = decoded.rank() == 4 && decoded.dim(1) == 3;
  const bool is_nhwc = decoded.rank() == 4 && decoded.dim(3) == 3;
  if (!is_nchw && !is_nhwc)
    fail(ErrorKind::usage, "pictures have the shape [N, 3, H, W] or [N, H, W, 3], got {}",
         to_string(decoded.shape()));
  const bool rounds = decoded.dtype() != DType::f32;
  Tensor image = is_nchw ? nchw_to_nhwc(decoded.to(DType::f32)) : decoded.to(DType::f32);
  for (float& value : image.mutable_data<float>()) value = value * 0.5f + 0.5f;
  if (rounds) image = image.to(decoded.dtype()).to(DType::f32);
  for (float& value : image.mutable_data<float>())
    if (std::isfinite(value)) value = std::clamp(value, 0.0f, 1.0f);
  return image;
}

std::vector<Image> to_images(const Tensor& nhwc) {
  if (nhwc.rank() != 4)
    fail(ErrorKind::usage, "pictures have the shape [N, H, W, 3], got {}", to_string(nhwc.shape()));
  std::vector<Image> images;
  for (std::int64_t n = 0; n < nhwc.dim(0); ++n)
    images.push_back(
        Image::from_tensor(nhwc.slice(0, n, n + 1).reshape({nhwc.dim(1), nhwc.dim(2), nhwc.dim(3)})));
  return images;
}

Tensor resize_and_crop(const Tensor& nchw, std::int64_t height, std::int64_t width) {
  check_type(nchw, "resize_and_crop");
  if (nchw.rank() != 4 || nchw.dim(2) < 1 || nchw.dim(3) < 1)
    fail(ErrorKind::usage, "resize_and_crop takes [N, C, H, W], got {}", to_string(nchw.shape()));
  if (height < 1 || width < 1)
    fail(ErrorKind::usage, "a picture of {}×{} pixels: both sides must be 1 or more", width, height);
  const std::int64_t old_height = nchw.dim(2), old_width = nchw.dim(3);
  if (old_height == height && old_width == width) return nchw;

  Tensor result = Tensor::empty(DType::f32, {nchw.dim(0), nchw.dim(1), height, width});
  const double ratio = std::max(static_cast<double>(height) / static_cast<double>(old_height),
                                static_cast<double>(width) / static_cast<double>(old_width));
  // Truncated as in Python, but never below the crop: 49·(1/49) is 0.999…, for which diffusers would
  // crop beyond the edge.
  const auto scaled = [&](std::int64_t side, std::int64_t least) {
    return std::max(static_cast<std::int64_t>(static_cast<double>(side) * ratio), least);
  };
  const std::int64_t new_height = scaled(old_height, height), new_width = scaled(old_width, width);
  const std::int64_t top = (new_height - height) / 2, left = (new_width - width) / 2;
  const std::vector<Tap> rows = bilinear_taps(old_height, new_height, top, top + height);
  const std::vector<Tap> columns = bilinear_taps(old_width, new_width, left, left + width);
  const Tensor source = nchw.to(DType::f32);
  const float* plane = source.data<float>().data();
  float* out = result.mutable_data<float>().data();
  for (std::int64_t p = 0; p < nchw.dim(0) * nchw.dim(1); ++p, plane += old_height * old_width) {
    for (const Tap& row : rows) {
      const float* upper = plane + row.first * old_width;
      const float* lower = plane + row.second * old_width;
      for (const Tap& column : columns) {
        const auto along = [&](const float* line) {
          return line[column.first] * column.first_weight + line[column.second] * column.second_weight;
        };
        *out++ = along(upper) * row.first_weight + along(lower) * row.second_weight;
      }
    }
  }
  return result.to(nchw.dtype());
}

}  // namespace perfuse
