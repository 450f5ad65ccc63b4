// Index arithmetic that the kernels of broadcasts and movements share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "perfuse/tensor/shape.h"

namespace perfuse::cpu {

// Loops over a result's elements in order, with a step (in elements) of each of N operands per dimension:
// 0 where an operand is repeated.
template <std::size_t N> struct Loop {
  std::int64_t size;
  std::array<std::int64_t, N> steps;
};

// Row-major strides of `shape` seen as `result` by numpy's rule: 0 where the dimension is repeated.
[[nodiscard]] inline std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& result) {
  std::vector<std::int64_t> strides(result.size(), 0);
  const std::size_t offset = result.size() - shape.size();
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) strides[i + offset] = stride;
    stride *= shape[i];
  }
  return strides;
}

// Drops dimensions of size 1 and merges neighbours that all operands walk through as one, so that the innermost
// loop is as long as it can be. At least one loop remains.
template <std::size_t N>
[[nodiscard]] std::vector<Loop<N>> merge_loops(const Shape& sizes,
                                               const std::array<std::vector<std::int64_t>, N>& strides) {
  std::vector<Loop<N>> loops;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    Loop<N> inner{sizes[i], {}};
    bool merges = !loops.empty();
    for (std::size_t k = 0; k < N; ++k) {
      inner.steps[k] = strides[k][i];
      merges = merges && loops.back().steps[k] == inner.steps[k] * inner.size;
    }
    if (merges)
      inner.size *= loops.back().size, loops.back() = inner;
    else
      loops.push_back(inner);
  }
  if (loops.empty()) {
    loops.push_back({1, {}});
    loops.back().steps.fill(1);
  }
  return loops;
}

// Calls body(position, offsets, count) for the runs of the innermost loop that cover positions begin … end − 1
// of the result: `count` elements from `position`, operand k starting at offsets[k].
template <std::size_t N, class Body>
void for_each_run(const std::vector<Loop<N>>& loops, std::int64_t begin, std::int64_t end, const Body& body) {
  const auto& inner = loops.back();
  while (begin < end) {
    std::array<std::int64_t, N> offsets{};
    std::int64_t rest = begin;
    std::int64_t inner_index = 0;
    for (std::size_t i = loops.size(); i-- > 0;) {
      const auto index = rest % loops[i].size;
      rest /= loops[i].size;
      if (i + 1 == loops.size()) inner_index = index;
      for (std::size_t k = 0; k < N; ++k) offsets[k] += index * loops[i].steps[k];
    }
    const auto count = std::min(inner.size - inner_index, end - begin);
    body(begin, offsets, count);
    begin += count;
  }
}

}  // namespace perfuse::cpu
