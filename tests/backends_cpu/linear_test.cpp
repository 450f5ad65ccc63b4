#include "perfuse/graph/ops.h"
#include "tests/backends_cpu/heavy_checks.h"

namespace perfuse::cpu::test {
namespace {

using graph::op::Linear;

std::vector<Expected> expected_linear(const std::vector<Tensor>& operands) {
  const auto x = doubles(operands[0]), weight = doubles(operands[1]);
  const auto bias = operands.size() > 2 ? doubles(operands[2]) : std::vector<double>();
  const auto n = static_cast<std::size_t>(operands[1].dim(0)),
             k = static_cast<std::size_t>(operands[1].dim(1));
  const auto m = k == 0 ? 1 : x.size() / k;
  std::vector<Expected> result(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < k; ++c) result[i * n + j].add(x[i * k + c] * weight[j * k + c]);
      if (!bias.empty()) result[i * n + j].add(bias[j]);
    }
  return result;
}

std::vector<Tensor> linear_operands(Shape x, std::int64_t n, DType x_type, DType weight_type,
                                    std::optional<DType> bias) {
  const auto k = x.back();
  std::vector<Tensor> operands{random_tensor(x_type, std::move(x), 1),
                               random_tensor(weight_type, {n, k}, 2, 0.3f)};
  if (bias) operands.push_back(random_tensor(*bias, {n}, 3));
  return operands;
}

// Every kernel of the list that accepts the node.
void check_all_kernels(const std::vector<Tensor>& operands) {
  const auto expected = expected_linear(operands);
  const auto terms = static_cast<double>(operands[1].dim(1) + 1);
  int accepted = 0;
  for (const auto& entry : kernels(Linear{}))
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      Bench bench(Linear{}, operands, 1, entry.name);
      if (bench.kernel() == nullptr) {
        EXPECT_FALSE(bench.refusal().empty());
        continue;
      }
      ++accepted;
      SCOPED_TRACE(::testing::Message() << entry.name << ", " << threads << " threads");
      expect_sums(bench.run(), expected, terms);
      expect_repeatable(bench, bench.run());
    }
  EXPECT_GT(accepted, 0);
}

TEST(Linear, AllTypes) {
  for (const auto x : kFloats)
    for (const auto weight : kFloats)
      for (const auto bias : {std::optional<DType>{}, {DType::f32}, {DType::bf16}, {DType::f16}}) {
        SCOPED_TRACE(::testing::Message()
                     << to_string(x) << " x " << to_string(weight) << ", bias " << bias.has_value());
        check_all_kernels(linear_operands({2, 19, 72}, 51, x, weight, bias));
      }
}

TEST(Linear, Shapes) {
  const std::array<std::array<std::int64_t, 3>, 9> shapes{{{1, 256, 1152},
                                                           {2, 1, 1},
                                                           {3, 17, 5},
                                                           {4, 1152, 33},
                                                           {5, 7, 3},
                                                           {64, 64, 64},
                                                           {129, 100, 257},
                                                           {300, 96, 1030},
                                                           {1030, 33, 70}}};
  for (const auto& [m, n, k] : shapes)
    for (const auto weight : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(::testing::Message() << m << " " << n << " " << k << " " << to_string(weight));
      check_all_kernels(linear_operands({m, k}, n, DType::f32, weight, DType::f32));
      check_all_kernels(linear_operands({m, k}, n, DType::bf16, weight, DType::bf16));
    }
}

// More than one panel of columns (K so large that few fit), and more than one chunk of rows.
TEST(Linear, SeveralPanels) {
  for (const auto x : {DType::f32, DType::f16})
    check_all_kernels(linear_operands({6, 9000}, 150, x, DType::bf16, DType::f32));
}

TEST(Linear, Vector) { check_all_kernels(linear_operands({40}, 30, DType::f32, DType::f16, {})); }

TEST(Linear, Empty) {
  EXPECT_EQ(Bench(Linear{}, linear_operands({0, 8}, 4, DType::f32, DType::f32, {})).run().numel(), 0);
  const auto operands = linear_operands({3, 0}, 4, DType::f32, DType::f32, DType::f32);
  expect_sums(
      Bench(Linear{}, operands).run(),
      [&] {
        auto result = expected_linear(operands);
        const auto once = result;
        result.insert(result.end(), once.begin(), once.end());
        result.insert(result.end(), once.begin(), once.end());
        return result;
      }(),
      1);
}

TEST(Linear, NanStaysNan) {
  auto operands = linear_operands({9, 32}, 16, DType::f32, DType::f32, {});
  operands[0].mutable_data<float>()[5] = std::nanf("");
  const auto values = doubles(Bench(Linear{}, operands).run());
  for (int j = 0; j < 16; ++j) EXPECT_TRUE(std::isnan(values[static_cast<std::size_t>(j)]));
  EXPECT_FALSE(std::isnan(values[16]));
}

}  // namespace
}  // namespace perfuse::cpu::test
