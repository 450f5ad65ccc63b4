// From the VAE decoder's output to pictures, as diffusers' image processors do it.
#pragma once

#include <vector>

#include "perfuse/image/image.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {

// Decoder output about −1…1, [N, 3, H, W] or [N, H, W, 3] (the former where both fit), f32, bf16 or
// f16 -> f32 [N, H, W, 3] in 0…1: x/2 + 0.5, rounded to the input's type as diffusers computes it,
// clamped. NaN and infinities stay, so that to_images can say where they are.
[[nodiscard]] Tensor denormalize_to_nhwc(const Tensor& decoded);

// One picture per entry of f32 [N, H, W, 3]; the errors of Image::from_tensor.
[[nodiscard]] std::vector<Image> to_images(const Tensor& nhwc);

// diffusers' PixArtImageProcessor.resize_and_crop_tensor, which undoes resolution binning: decoder
// output [N, C, H, W], f32, bf16 or f16, is scaled (bilinear, align_corners = False, no antialiasing)
// until it covers height × width, then cropped about its centre. The same type comes back.
[[nodiscard]] Tensor resize_and_crop(const Tensor& nchw, std::int64_t height, std::int64_t width);

}  // namespace perfuse
