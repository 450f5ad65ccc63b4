#include <gtest/gtest.h>

#include "perfuse/core/error.h"
#include "perfuse/graph/ops.h"

namespace perfuse::graph {
namespace {

ValueType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

struct Accepted {
  Op op;
  std::vector<ValueType> operands;
  ValueType result;
};

TEST(Infer, GivesTheResultsType) {
  const std::vector<Accepted> cases{
      {op::Linear{}, {f32({2, 7, 5}), {DType::bf16, {3, 5}}, f32({3})}, f32({2, 7, 3})},
      {op::Conv2d{2, 0, 1, 0, 1, 1}, {f32({1, 8, 6, 4}), f32({5, 3, 3, 4})}, f32({1, 4, 3, 5})},
      {op::Conv2d{1, 1, 1, 1, 1, 2}, {f32({1, 4, 4, 4}), f32({6, 3, 3, 2}), f32({6})}, f32({1, 4, 4, 6})},
      {op::GroupNorm{2, 1e-5}, {f32({1, 3, 3, 4}), f32({4}), f32({4})}, f32({1, 3, 3, 4})},
      {op::LayerNorm{}, {f32({2, 4})}, f32({2, 4})},
      {op::RmsNorm{}, {f32({2, 4}), f32({4})}, f32({2, 4})},
      {op::Attention{},
       {f32({2, 5, 4, 8}), f32({2, 7, 2, 8}), f32({2, 7, 2, 8}), f32({2, 1, 1, 7})},
       f32({2, 5, 4, 8})},
      {op::Binary{}, {f32({2, 3, 4}), f32({3, 1})}, f32({2, 3, 4})},
      {op::Binary{}, {f32({1, 4}), f32({3, 1})}, f32({3, 4})},
      {op::Reshape{{6, 2}}, {f32({3, 4})}, f32({6, 2})},
      {op::Transpose{{2, 0, 1}}, {f32({3, 4, 5})}, f32({5, 3, 4})},
      {op::Concat{1}, {f32({2, 1}), f32({2, 3})}, f32({2, 4})},
      {op::Slice{0, 1, 3}, {f32({4, 2})}, f32({2, 2})},
      {op::Broadcast{{5, 3, 2}}, {f32({3, 1})}, f32({5, 3, 2})},
      {op::UpsampleNearest{5, 7}, {f32({1, 2, 3, 4})}, f32({1, 5, 7, 4})},
      {op::Embedding{DType::bf16}, {f32({9, 4}), {DType::i32, {2, 3}}}, {DType::bf16, {2, 3, 4}}},
      {op::Convert{DType::f16}, {f32({3})}, {DType::f16, {3}}},
      {op::TimestepEmbedding{8}, {f32({3})}, f32({3, 8})},
      {op::LinearCombination{DType::bf16}, {f32({2}), {DType::bf16, {4}}, f32({4})}, {DType::bf16, {4}}},
  };
  for (const auto& c : cases) EXPECT_EQ(infer(c.op, c.operands), c.result) << to_string(c.op);
}

TEST(Infer, RefusesWhatBreaksTheRuleAndSaysWhy) {
  const std::vector<std::pair<Op, std::vector<ValueType>>> cases{
      {op::Linear{}, {f32({2, 5}), f32({3, 4})}},
      {op::Linear{}, {f32({2, 5}), f32({3, 5}), f32({5})}},
      {op::Linear{}, {{DType::i32, {2, 5}}, f32({3, 5})}},
      {op::Conv2d{}, {f32({1, 2, 2, 4}), f32({5, 3, 3, 4})}},
      {op::Conv2d{.stride = 0}, {f32({1, 4, 4, 4}), f32({5, 3, 3, 4})}},
      {op::Conv2d{}, {f32({1, 4, 4, 3}), f32({5, 3, 3, 4})}},
      {op::GroupNorm{3, 1e-5}, {f32({1, 3, 3, 4}), f32({4}), f32({4})}},
      {op::LayerNorm{}, {f32({2, 4}), f32({4})}},
      {op::Attention{}, {f32({2, 5, 4, 8}), f32({2, 7, 3, 8}), f32({2, 7, 3, 8})}},
      {op::Attention{}, {f32({2, 5, 4, 8}), f32({2, 7, 4, 8}), f32({2, 7, 4, 8}), f32({3, 1, 1, 7})}},
      {op::Binary{}, {f32({2, 3}), f32({2})}},
      {op::Binary{}, {f32({2}), {DType::bf16, {2}}}},
      {op::Reshape{{5}}, {f32({2, 3})}},
      {op::Transpose{{0, 0}}, {f32({2, 3})}},
      {op::Concat{0}, {f32({2, 3}), f32({2, 4})}},
      {op::Concat{2}, {f32({2, 3})}},
      {op::Slice{0, 1, 4}, {f32({3})}},
      {op::Broadcast{{2, 2}}, {f32({3})}},
      {op::Embedding{}, {f32({9, 4}), f32({2})}},
      {op::Convert{DType::f64}, {f32({3})}},
      {op::TimestepEmbedding{7}, {f32({3})}},
      {op::LinearCombination{}, {f32({1}), f32({4}), f32({4})}},
  };
  for (const auto& [op, operands] : cases) {
    try {
      static_cast<void>(infer(op, operands));
      ADD_FAILURE() << to_string(op) << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("expected"), std::string::npos) << error.what();
    }
  }
}

TEST(Ops, PrintTheirAttributesExactly) {
  EXPECT_EQ(to_string(Op{op::RmsNorm{1e-6}}), "rms_norm(eps=1e-06)");
  EXPECT_EQ(to_string(Op{op::Slice{1, 2, 3}}), "slice(axis=1, begin=2, end=3)");
  EXPECT_EQ(to_string(Op{op::Linear{}}), "linear");
}

}  // namespace
}  // namespace perfuse::graph
