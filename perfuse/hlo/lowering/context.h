// What the lowerings of the ops share. One overload of lower() per op, each in the file of its family; the compiler
// names an op that has none.
#pragma once

#include <span>

#include "perfuse/graph/ops.h"
#include "perfuse/hlo/builder.h"
#include "perfuse/hlo/lower.h"

namespace perfuse::hlo {

// Operands in the op's order, and the type that the result must have.
struct Context {
  Builder& b;
  const LoweringOptions& options;
  std::span<const Value> operands;
  std::vector<bool> permuted;  // by operand: a parameter whose axes lie as wanted_permutation() asked
  const graph::ValueType& result;

  // An operand in f32, where the arithmetic inside an op happens.
  [[nodiscard]] Value f32(std::size_t operand) const { return b.convert(operands[operand], DType::f32); }
  // Rounded once, to the result's type.
  [[nodiscard]] Value rounded(Value value) const { return b.convert(std::move(value), result.dtype); }
};

// How an op wants the axes of a parameter operand to lie; empty: as they are.
template <class OpType> std::vector<int> wanted_permutation(const OpType&, std::size_t) { return {}; }
std::vector<int> wanted_permutation(const graph::op::Conv2d& op, std::size_t operand);

Value lower(const graph::op::Linear& op, const Context& c);
Value lower(const graph::op::Conv2d& op, const Context& c);
Value lower(const graph::op::GroupNorm& op, const Context& c);
Value lower(const graph::op::LayerNorm& op, const Context& c);
Value lower(const graph::op::RmsNorm& op, const Context& c);
Value lower(const graph::op::Attention& op, const Context& c);
Value lower(const graph::op::Unary& op, const Context& c);
Value lower(const graph::op::Binary& op, const Context& c);
Value lower(const graph::op::Affine& op, const Context& c);
Value lower(const graph::op::Clamp& op, const Context& c);
Value lower(const graph::op::Softmax& op, const Context& c);
Value lower(const graph::op::Reshape& op, const Context& c);
Value lower(const graph::op::Transpose& op, const Context& c);
Value lower(const graph::op::Concat& op, const Context& c);
Value lower(const graph::op::Slice& op, const Context& c);
Value lower(const graph::op::Broadcast& op, const Context& c);
Value lower(const graph::op::UpsampleNearest& op, const Context& c);
Value lower(const graph::op::Embedding& op, const Context& c);
Value lower(const graph::op::Convert& op, const Context& c);
Value lower(const graph::op::TimestepEmbedding& op, const Context& c);
Value lower(const graph::op::LinearCombination& op, const Context& c);

// numpy's broadcasting: dimensions of size 1, or missing in front, repeat.
[[nodiscard]] Value broadcast_to(Builder& b, Value x, const Shape& shape);
// A vector along the last axis.
[[nodiscard]] Value along_last(Builder& b, Value vector, const Shape& shape);
// softmax over the last axis, of f32 values.
// What becomes of a row that is −∞ throughout.
enum class HiddenRows { not_a_number, zero };
[[nodiscard]] Value softmax_last(Builder& b, Value x, HiddenRows hidden);

}  // namespace perfuse::hlo
