// Every op, evaluated plainly on the host: what all backends are compared with.
#pragma once

#include <vector>

#include "perfuse/graph/ops.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse::reference {

// Operands of any type; everything in double, rounded once to the result's type. Two ops prescribe more: RmsNorm
// rounds its quotient to x's type, and TimestepEmbedding computes frequencies and arguments in f32.
[[nodiscard]] Tensor evaluate(const graph::Op& op, const std::vector<Tensor>& operands,
                              const graph::ValueType& result);

// The value that `dtype` holds for `value`: to nearest even, subnormals and overflow included; f32, bf16, f16.
[[nodiscard]] double round_to(DType dtype, double value);

}  // namespace perfuse::reference
