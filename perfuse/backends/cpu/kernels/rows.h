// How kernels that work row by row (norms, softmax) go over a tensor.
#pragma once

#include <algorithm>
#include <vector>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"

namespace perfuse::cpu {

// A tensor as rows of its last dimension.
struct Rows {
  explicit Rows(const graph::ValueType& tensor)
      : dtype(tensor.dtype),
        channels(tensor.shape.back()),
        count(channels == 0 ? 0 : tensor.numel() / channels) {}

  DType dtype;
  std::int64_t channels;
  std::int64_t count;
};

// y = core(x): core(const float* x, std::int64_t rows, float* y) gets some rows at a time, y may be x.
template <class Core>
void map_rows(const Rows& rows, const std::byte* x, std::byte* y, std::int64_t grain, const Core& core) {
  const auto channels = rows.channels;
  parallel_for(rows.count, std::max<std::int64_t>(1, grain / std::max<std::int64_t>(1, channels)),
               [&](std::int64_t begin, std::int64_t end) {
                 if (rows.dtype == DType::f32)
                   return core(elements<float>(x) + begin * channels, end - begin,
                               elements<float>(y) + begin * channels);
                 const auto step = std::clamp<std::int64_t>(4 * kBlock / channels, 1, end - begin);
                 std::vector<float> buffer(static_cast<std::size_t>(step * channels));
                 for (std::int64_t i = begin; i < end; i += step) {
                   const auto n = std::min(step, end - i);
                   core(read_f32(rows.dtype, x, i * channels, n * channels, buffer.data()), n, buffer.data());
                   store_f32(rows.dtype, y, i * channels, n * channels, buffer.data());
                 }
               });
}

// Bytes of scratch for `count` elements of f32, whole cache lines.
[[nodiscard]] constexpr std::size_t scratch_for(std::int64_t count) {
  return (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
}

}  // namespace perfuse::cpu
