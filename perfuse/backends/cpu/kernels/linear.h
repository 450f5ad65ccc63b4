// The kernels of linear: y[M, N] = x[M, K] · weight[N, K]ᵀ + bias[N]. Weights stay as the file has them, row-major
// and in their type (packing them ahead gained nothing that could be measured from 128 rows on).
#pragma once

#include <cstdint>
#include <optional>

#include "perfuse/backends/cpu/kernel.h"

namespace perfuse::cpu {

struct LinearNode {
  std::int64_t m, n, k;
  DType x, weight, result;
  std::optional<DType> bias;
};
[[nodiscard]] LinearNode linear_node(const NodeInfo& node);

// Few rows: one pass over the weights, bound by memory.
[[nodiscard]] Candidate make_linear_rows(const graph::op::Linear& op, const NodeInfo& node);
// One type throughout, where oneDNN has a fast product for it.
[[nodiscard]] Candidate make_linear_onednn(const graph::op::Linear& op, const NodeInfo& node);
// All types: what is not f32 is converted a panel at a time, and the panels are multiplied in f32.
[[nodiscard]] Candidate make_linear_panels(const graph::op::Linear& op, const NodeInfo& node);

}  // namespace perfuse::cpu
