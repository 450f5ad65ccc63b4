#include <cfloat>
#include <limits>

#include "perfuse/graph/ops.h"
#include "tests/backends_cpu/heavy_checks.h"

namespace perfuse::cpu::test {
namespace {

using graph::op::Attention;

// softmax(q·kᵀ · scale + bias) · v in double.
std::vector<Expected> expected_attention(const Attention& op, const std::vector<Tensor>& operands) {
  const auto q = doubles(operands[0]), k = doubles(operands[1]), v = doubles(operands[2]);
  const auto& qs = operands[0].shape();
  const auto& ks = operands[1].shape();
  const auto bias = operands.size() > 3 ? doubles(operands[3]) : std::vector<double>();
  const Shape bs = operands.size() > 3 ? operands[3].shape() : Shape{1, 1, 1, ks[1]};
  std::vector<Expected> expected(q.size());
  for (std::int64_t b = 0; b < qs[0]; ++b)
    for (std::int64_t s = 0; s < qs[1]; ++s)
      for (std::int64_t h = 0; h < qs[2]; ++h) {
        const auto g = h / (qs[2] / ks[2]);
        const auto at = static_cast<std::size_t>(((b * qs[1] + s) * qs[2] + h) * qs[3]);
        const auto key_at = [&](std::int64_t t) {
          return static_cast<std::size_t>(((b * ks[1] + t) * ks[2] + g) * qs[3]);
        };
        std::vector<double> scores(static_cast<std::size_t>(ks[1]));
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t t = 0; t < ks[1]; ++t) {
          auto& score = scores[static_cast<std::size_t>(t)];
          for (std::int64_t d = 0; d < qs[3]; ++d)
            score +=
                q[at + static_cast<std::size_t>(d)] * k[key_at(t) + static_cast<std::size_t>(d)] * op.scale;
          if (!bias.empty())
            score += bias[static_cast<std::size_t>(
                (((bs[0] == 1 ? 0 : b) * bs[1] + (bs[1] == 1 ? 0 : h)) * bs[2] + (bs[2] == 1 ? 0 : s)) *
                    bs[3] +
                t)];
          if (op.causal && t > s + ks[1] - qs[1]) score = -std::numeric_limits<double>::infinity();
          most = std::max(most, score);
        }
        if (std::isinf(most)) continue;  // no key is seen: 0
        for (auto& score : scores) score = std::exp(score - most), sum += score;
        for (std::int64_t t = 0; t < ks[1]; ++t)
          for (std::int64_t d = 0; d < qs[3]; ++d)
            expected[at + static_cast<std::size_t>(d)].add(scores[static_cast<std::size_t>(t)] / sum *
                                                           v[key_at(t) + static_cast<std::size_t>(d)]);
      }
  return expected;
}

struct Case {
  std::int64_t batch, queries, keys, heads, key_heads, depth;
};

std::vector<Tensor> qkv(const Case& c, DType type) {
  return {random_tensor(type, {c.batch, c.queries, c.heads, c.depth}, 1),
          random_tensor(type, {c.batch, c.keys, c.key_heads, c.depth}, 2),
          random_tensor(type, {c.batch, c.keys, c.key_heads, c.depth}, 3)};
}

void check(const Attention& op, const std::vector<Tensor>& operands) {
  const auto expected = expected_attention(op, operands);
  // A score errs by √D roundings of its size, which enters each weight as a relative error.
  const auto depth = static_cast<double>(operands[0].dim(3));
  const double score_error = (8 + 2 * std::sqrt(depth)) * 0x1p-24 * (4 + op.scale * depth * 2);
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    SCOPED_TRACE(::testing::Message() << threads << " threads");
    Bench bench(op, operands, 9);
    expect_sums(bench.run(), expected, static_cast<double>(operands[1].dim(1)), score_error);
    expect_repeatable(bench, bench.run());
  }
}

Attention scaled(std::int64_t depth, bool causal = false) {
  return {.scale = 1.0 / std::sqrt(static_cast<double>(depth)), .causal = causal};
}

TEST(Attention, Shapes) {
  const std::vector<Case> cases{{2, 64, 64, 4, 4, 64},   {1, 77, 77, 3, 3, 64},  {2, 130, 300, 2, 2, 72},
                                {1, 1, 1, 1, 1, 8},      {1, 5, 700, 2, 1, 40},  {1, 257, 31, 6, 2, 13},
                                {1, 100, 90, 1, 1, 512}, {3, 16, 17, 8, 4, 128}, {1, 200, 513, 1, 1, 160}};
  for (const auto& c : cases)
    for (const auto type : kFloats) {
      SCOPED_TRACE(::testing::Message()
                   << "S " << c.queries << " T " << c.keys << " D " << c.depth << " " << to_string(type));
      check(scaled(c.depth), qkv(c, type));
    }
}

TEST(Attention, Causal) {
  for (const Case& c : {Case{1, 77, 77, 2, 2, 64}, Case{1, 300, 300, 1, 1, 32}, Case{2, 3, 70, 2, 1, 24},
                        Case{1, 70, 40, 1, 1, 16}}) {
    SCOPED_TRACE(::testing::Message() << "S " << c.queries << " T " << c.keys);
    check(scaled(c.depth, true), qkv(c, DType::f32));
    check(scaled(c.depth, true), qkv(c, DType::bf16));
  }
}

TEST(Attention, BiasBroadcasts) {
  const Case c{2, 70, 300, 4, 2, 32};
  for (const auto& shape : {Shape{1, 1, 1, 300}, Shape{2, 1, 1, 300}, Shape{1, 4, 70, 300},
                            Shape{2, 4, 70, 300}, Shape{2, 1, 70, 300}, Shape{1, 4, 1, 300}})
    for (const auto bias : kFloats) {
      SCOPED_TRACE(::testing::Message() << to_string(shape) << " " << to_string(bias));
      auto operands = qkv(c, bias == DType::bf16 ? DType::bf16 : DType::f32);
      operands.push_back(random_tensor(bias, shape, 4));
      check(scaled(32), operands);
    }
}

// Keys masked with −10000, the least float and −∞, some queries' keys all masked.
TEST(Attention, Masks) {
  const Case c{1, 20, 40, 1, 1, 16};
  for (const float mask : {-10000.0f, -FLT_MAX, -std::numeric_limits<float>::infinity()}) {
    SCOPED_TRACE(mask);
    auto operands = qkv(c, DType::f32);
    Tensor bias = Tensor::zeros(DType::f32, {1, 1, 20, 40});
    auto values = bias.mutable_data<float>();
    for (std::size_t s = 0; s < 20; ++s)
      for (std::size_t t = 0; t < 40; ++t)
        if (t > 2 * s || s == 7) values[s * 40 + t] = mask;
    operands.push_back(bias);
    if (mask == -10000.0f) {
      // q·k is lost to f32's spacing near 10000 (0.001) where all is masked: weights err by that much.
      Bench bench(scaled(16), operands, 9);
      expect_sums(bench.run(), expected_attention(scaled(16), operands), 40, 1e-3);
    } else if (mask == -FLT_MAX) {
      // q·k vanishes beside it: all weights are equal, as in torch; in double they are not.
      const auto got = doubles(Bench(scaled(16), operands, 9).run());
      const auto v = doubles(operands[2]);
      for (std::size_t d = 0; d < 16; ++d) {
        double mean = 0;
        for (std::size_t t = 0; t < 40; ++t) mean += v[t * 16 + d] / 40;
        EXPECT_NEAR(got[7 * 16 + d], mean, 1e-6);
      }
    } else {
      check(scaled(16), operands);
    }
  }
}

TEST(Attention, LargeScoresAndNan) {
  auto operands = qkv({1, 70, 90, 1, 1, 64}, DType::f32);
  check({.scale = 4.0}, operands);
  operands[1].mutable_data<float>()[5 * 64] = std::nanf("");
  for (const double value : doubles(Bench(scaled(64), operands, 9).run())) ASSERT_TRUE(std::isnan(value));
}

TEST(Attention, NoKeys) {
  const auto operands = qkv({1, 3, 0, 1, 1, 8}, DType::f32);
  for (const double value : doubles(Bench(scaled(8), operands, 9).run())) EXPECT_EQ(value, 0.0);
}

}  // namespace
}  // namespace perfuse::cpu::test
