#include "perfuse/graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace perfuse::graph {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });

  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const auto i : order) {
    std::size_t offset = 0;
    for (const auto other : placed) {
      const bool together =
          lifetimes[other].first <= lifetimes[i].last && lifetimes[i].first <= lifetimes[other].last;
      if (!together) continue;
      if (offset + aligned(lifetimes[i].bytes) <= plan.offsets[other]) break;  // fits in the gap before it
      offset = std::max(offset, plan.offsets[other] + aligned(lifetimes[other].bytes));
    }
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, offset + aligned(lifetimes[i].bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        i);
  }
  return plan;
}

}  // namespace perfuse::graph
