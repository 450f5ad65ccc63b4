// One table of cases for every op; every backend runs it against reference::evaluate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfuse/graph/ops.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse::reference {

struct OperandCase {
  graph::ValueType type;
  double least = -1, most = 1;  // values are uniform between them
  bool is_parameter = false;    // a weight, bias or table in a model
  bool masked = false;  // −∞ in the whole first row (of the last axis) and in every third element after it
};

// |result − reference| ≤ absolute + relative · |reference|, for each element: what f32 arithmetic and the
// roundings of the result cost in the worst reasonable order of summation. A device that computes f32 products in
// less multiplies the bounds.
struct OpCase {
  std::string name;  // "linear/bf16_weight_bf16/17x7x3", unique
  graph::Op op;
  std::vector<OperandCase> operands;
  double absolute = 0, relative = 0;
};

[[nodiscard]] const std::vector<OpCase>& op_cases();

[[nodiscard]] std::vector<graph::ValueType> operand_types(const OpCase& test);

// The same values on every machine and in every run.
[[nodiscard]] std::vector<Tensor> make_operands(const OpCase& test);

// Nothing where all elements are within the bound (multiplied by `slack`), else the worst of those that are not.
[[nodiscard]] std::optional<std::string> difference(const OpCase& test, const Tensor& expected,
                                                    const Tensor& actual, double slack = 1);

}  // namespace perfuse::reference
