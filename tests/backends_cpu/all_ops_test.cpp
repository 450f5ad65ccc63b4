// Every op's table of cases on the kernels that the CPU backend chooses.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "perfuse/backends/cpu/cpu_buffer.h"
#include "perfuse/backends/cpu/kernel.h"
#include "tests/reference/op_cases.h"
#include "tests/reference/reference_ops.h"

namespace perfuse::cpu {
namespace {

using reference::OpCase;

// Runs the case, its weights either as parameters in the kernel's own format or as plain values. The result and scratch
// are first filled with NaN patterns, so that what a kernel leaves out shows.
Tensor run_case(const OpCase& test, const graph::ValueType& result, const std::vector<Tensor>& operands,
                bool with_parameters) {
  NodeInfo node{reference::operand_types(test), {}, result};
  for (const auto& operand : test.operands)
    node.is_parameter.push_back(with_parameters && operand.is_parameter);
  const auto chosen = choose_kernel(test.op, node);

  std::vector<runtime::BufferPtr> buffers;
  std::vector<const std::byte*> addresses;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto format = node.is_parameter[i] ? chosen.kernel->format(i) : nullptr;
    buffers.push_back(format ? format->prepare(operands[i]) : borrow_tensor(operands[i]));
    addresses.push_back(data_of(buffers.back()));
  }
  Tensor actual = Tensor::empty(result.dtype, result.shape);
  std::ranges::fill(actual.mutable_bytes(), std::byte{0xff});
  const auto scratch_bytes = static_cast<std::int64_t>(chosen.kernel->scratch_bytes());
  Tensor scratch = Tensor::empty(DType::u8, {scratch_bytes});
  std::ranges::fill(scratch.mutable_bytes(), std::byte{0xff});
  chosen.kernel->run({addresses, actual.mutable_bytes().data(), scratch.mutable_bytes().data()});
  return actual;
}

// By op, so that a failure names it and CTest can run them apart.
class AllOps : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AllOps, AgreeWithTheReference) {
  for (const auto& test : reference::op_cases()) {
    if (test.op.index() != GetParam()) continue;
    const auto operands = reference::make_operands(test);
    const auto result = graph::infer(test.op, reference::operand_types(test));
    const Tensor expected = reference::evaluate(test.op, operands, result);
    bool has_parameters = false;
    for (const auto& operand : test.operands) has_parameters = has_parameters || operand.is_parameter;
    for (const bool with_parameters : {false, true}) {
      if (with_parameters && !has_parameters) continue;
      SCOPED_TRACE(with_parameters ? "weights are parameters" : "weights are values");
      const auto wrong =
          reference::difference(test, expected, run_case(test, result, operands, with_parameters));
      EXPECT_FALSE(wrong.has_value()) << *wrong;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, AllOps, ::testing::Range(std::size_t{0}, std::variant_size_v<graph::Op>),
                         [](const auto& param) {
                           for (const auto& test : reference::op_cases())
                             if (test.op.index() == param.param) return std::string(graph::name_of(test.op));
                           return "op_without_cases_" + std::to_string(param.param);
                         });

TEST(OpCases, CoverEveryOpAndHaveNamesOfTheirOwn) {
  std::set<std::size_t> covered;
  std::set<std::string> names;
  for (const auto& test : reference::op_cases()) {
    covered.insert(test.op.index());
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
  }
  EXPECT_EQ(covered.size(), std::variant_size_v<graph::Op>);
}

// A comparison that can't fail would let everything pass.
TEST(OpCases, DifferenceFindsOneWrongElement) {
  const OpCase test{"affine", graph::op::Affine{2, 0}, {{{DType::f32, {3}}}}, 1e-6, 1e-6};
  const auto x = Tensor::from<float>({3}, {1, 2, 3});
  const auto expected = reference::evaluate(test.op, {x}, {DType::f32, {3}});
  EXPECT_FALSE(reference::difference(test, expected, Tensor::from<float>({3}, {2, 4, 6})));
  EXPECT_FALSE(reference::difference(test, expected, Tensor::from<float>({3}, {2, 4, 6.000005f})));
  EXPECT_TRUE(reference::difference(test, expected, Tensor::from<float>({3}, {2, 4, 6.00001f})));
  EXPECT_TRUE(reference::difference(test, expected, Tensor::from<float>({3}, {2, NAN, 6})));
  EXPECT_TRUE(reference::difference(test, expected, Tensor::from<float>({3}, {INFINITY, 4, 6})));
  EXPECT_TRUE(reference::difference(test, expected, Tensor::from<float>({1, 3}, {2, 4, 6})));
}

}  // namespace
}  // namespace perfuse::cpu
