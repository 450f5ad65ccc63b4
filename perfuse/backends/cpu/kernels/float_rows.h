// The way in which the light kernels handle types: an f32 core works on blocks that stay in the L1 cache;
// blocks of half-precision tensors are converted before and after it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "perfuse/core/threads.h"
#include "perfuse/tensor/dtype.h"

namespace perfuse::cpu {

// Elements of one block: 4 KiB of f32, so that several operands' blocks fit in L1.
inline constexpr std::int64_t kBlock = 1024;

// Elements per thread below which starting threads (about 5 µs) costs more than it gains: for kernels bound
// by memory, and for those that compute an exponential or more per element.
inline constexpr std::int64_t kMemoryGrain = 32'768;
inline constexpr std::int64_t kMathGrain = 8'192;

// f32, bf16, f16: what the f32 cores take.
[[nodiscard]] constexpr bool is_graph_float(DType type) {
  return type == DType::f32 || type == DType::bf16 || type == DType::f16;
}

// `count` elements of a floating tensor to f32, and f32 to that type, rounded to nearest even.
void to_f32(DType type, const std::byte* from, std::int64_t count, float* to);
void from_f32(const float* from, std::int64_t count, DType type, std::byte* to);

template <class T> [[nodiscard]] const T* elements(const std::byte* tensor) {
  return reinterpret_cast<const T*>(tensor);
}
template <class T> [[nodiscard]] T* elements(std::byte* tensor) { return reinterpret_cast<T*>(tensor); }

// Elements begin … begin + count − 1 as f32: where they lie if the tensor is f32, else converted into `buffer`.
[[nodiscard]] inline const float* read_f32(DType type, const std::byte* tensor, std::int64_t begin,
                                           std::int64_t count, float* buffer) {
  if (type == DType::f32) return elements<float>(tensor) + begin;
  to_f32(type, tensor + begin * static_cast<std::int64_t>(size_of(type)), count, buffer);
  return buffer;
}

// Where a core writes `count` results that belong at `begin`; store() afterwards brings them there.
[[nodiscard]] inline float* target_f32(DType type, std::byte* tensor, std::int64_t begin, float* buffer) {
  return type == DType::f32 ? elements<float>(tensor) + begin : buffer;
}
inline void store_f32(DType type, std::byte* tensor, std::int64_t begin, std::int64_t count,
                      const float* buffer) {
  if (type != DType::f32)
    from_f32(buffer, count, type, tensor + begin * static_cast<std::int64_t>(size_of(type)));
}

// y = core(x) element by element: core(const float* x, std::int64_t count, float* y).
template <class Core>
void map_elements(DType type, const std::byte* x, std::byte* y, std::int64_t count, std::int64_t grain,
                  const Core& core) {
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (type == DType::f32) return core(elements<float>(x) + begin, end - begin, elements<float>(y) + begin);
    alignas(64) float buffer[kBlock];
    for (std::int64_t i = begin; i < end; i += kBlock) {
      const auto n = std::min(kBlock, end - i);
      core(read_f32(type, x, i, n, buffer), n, buffer);
      store_f32(type, y, i, n, buffer);
    }
  });
}

}  // namespace perfuse::cpu
