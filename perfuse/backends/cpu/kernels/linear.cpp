#include "perfuse/backends/cpu/kernels/linear.h"

#include <array>

namespace perfuse::cpu {

LinearNode linear_node(const NodeInfo& node) {
  const auto& x = node.operands[0];
  const auto& weight = node.operands[1];
  const std::int64_t n = weight.shape[0], k = weight.shape[1];
  std::int64_t m = 1;
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) m *= x.shape[i];
  std::optional<DType> bias;
  if (node.operands.size() > 2) bias = node.operands[2].dtype;
  return {m, n, k, x.dtype, weight.dtype, node.result.dtype, bias};
}

std::span<const KernelEntry<graph::op::Linear>> kernels(const graph::op::Linear&) {
  static constexpr std::array<KernelEntry<graph::op::Linear>, 3> entries{{
      {"rows", make_linear_rows},
      {"onednn", make_linear_onednn},
      {"panels", make_linear_panels},
  }};
  return entries;
}

}  // namespace perfuse::cpu
