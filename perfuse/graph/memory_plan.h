// Places values of known lifetime in one area of memory.
#pragma once

#include <cstddef>
#include <vector>

namespace perfuse::graph {

struct Lifetime {
  std::size_t bytes;
  int first, last;  // steps, inclusive, in which the value must keep its place
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  // by index of the lifetimes, multiples of 64
  std::size_t total = 0;
};

// Largest first, each at the lowest offset where nothing that lives at the same time lies: within a few
// percent of the peak of live bytes for networks of this kind.
[[nodiscard]] MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

}  // namespace perfuse::graph
