#include "perfuse/graph/ops.h"
#include "tests/backends_cpu/heavy_checks.h"

namespace perfuse::cpu::test {
namespace {

using graph::op::Conv2d;

std::vector<Expected> expected_conv(const Conv2d& op, const std::vector<Tensor>& operands,
                                    const Shape& result) {
  const auto x = doubles(operands[0]), weight = doubles(operands[1]);
  const auto bias = operands.size() > 2 ? doubles(operands[2]) : std::vector<double>();
  const auto& xs = operands[0].shape();
  const auto& ws = operands[1].shape();
  std::vector<Expected> expected(static_cast<std::size_t>(numel(result)));
  std::size_t at = 0;
  for (std::int64_t n = 0; n < result[0]; ++n)
    for (std::int64_t i = 0; i < result[1]; ++i)
      for (std::int64_t j = 0; j < result[2]; ++j)
        for (std::int64_t o = 0; o < result[3]; ++o, ++at) {
          const auto first = o / (ws[0] / op.groups) * ws[3];
          for (std::int64_t kh = 0; kh < ws[1]; ++kh)
            for (std::int64_t kw = 0; kw < ws[2]; ++kw) {
              const auto h = i * op.stride - op.pad_top + kh, w = j * op.stride - op.pad_left + kw;
              if (h < 0 || h >= xs[1] || w < 0 || w >= xs[2]) continue;
              for (std::int64_t c = 0; c < ws[3]; ++c)
                expected[at].add(
                    x[static_cast<std::size_t>(((n * xs[1] + h) * xs[2] + w) * xs[3] + first + c)] *
                    weight[static_cast<std::size_t>(((o * ws[1] + kh) * ws[2] + kw) * ws[3] + c)]);
            }
          if (!bias.empty()) expected[at].add(bias[static_cast<std::size_t>(o)]);
        }
  return expected;
}

struct Case {
  std::int64_t batch, height, width, inputs, outputs, kernel;
  Conv2d op;
};

std::vector<Tensor> conv_operands(const Case& c, DType x, DType weight, std::optional<DType> bias) {
  std::vector<Tensor> operands{
      random_tensor(x, {c.batch, c.height, c.width, c.inputs}, 1),
      random_tensor(weight, {c.outputs, c.kernel, c.kernel, c.inputs / c.op.groups}, 2, 0.2f)};
  if (bias) operands.push_back(random_tensor(*bias, {c.outputs}, 3));
  return operands;
}

// The chosen kernel, weights as a parameter and as a value, and the plain one.
void check(const Case& c, DType x, DType weight, std::optional<DType> bias,
           std::string_view expected_kernel = "onednn") {
  const auto operands = conv_operands(c, x, weight, bias);
  const auto terms = static_cast<double>(operands[1].numel() / c.outputs + 1);
  std::vector<Expected> expected;
  const auto run = [&](std::size_t first_parameter, std::string_view name) {
    Bench bench(c.op, operands, first_parameter, name);
    ASSERT_NE(bench.kernel(), nullptr);
    EXPECT_EQ(bench.name(), name.empty() ? expected_kernel : name);
    const Tensor& result = bench.run();
    if (expected.empty()) expected = expected_conv(c.op, operands, result.shape());
    SCOPED_TRACE(::testing::Message()
                 << "kernel " << bench.name() << ", parameters from " << first_parameter);
    expect_sums(result, expected, terms);
    expect_repeatable(bench, result);
  };
  for (const int threads : {1, 2}) {
    const ThreadCount count(threads);
    run(1, "");
    run(9, "");
  }
  run(1, "plain");
}

constexpr Conv2d same(std::int64_t pad, std::int64_t groups = 1) {
  return {
      .stride = 1, .pad_top = pad, .pad_bottom = pad, .pad_left = pad, .pad_right = pad, .groups = groups};
}
// What diffusers' Downsample2D with padding 0 does: one row below, one column right.
constexpr Conv2d kDownsample{
    .stride = 2, .pad_top = 0, .pad_bottom = 1, .pad_left = 0, .pad_right = 1, .groups = 1};

TEST(Conv2d, AllTypes) {
  for (const auto x : kFloats)
    for (const auto weight : kFloats)
      for (const auto bias : {std::optional<DType>{}, {DType::f32}, {DType::bf16}, {DType::f16}}) {
        SCOPED_TRACE(::testing::Message()
                     << to_string(x) << " x " << to_string(weight) << ", bias " << bias.has_value());
        check({2, 9, 11, 16, 24, 3, same(1)}, x, weight, bias);
      }
}

TEST(Conv2d, Shapes) {
  const std::vector<Case> cases{{1, 16, 16, 4, 64, 3, same(1)},       {1, 13, 9, 64, 4, 3, same(1)},
                                {3, 8, 8, 3, 32, 3, same(1)},         {1, 17, 33, 32, 3, 3, same(1)},
                                {1, 64, 64, 8, 8, 1, same(0)},        {2, 7, 5, 72, 40, 1, same(0)},
                                {1, 32, 32, 24, 40, 3, kDownsample},  {2, 15, 9, 33, 17, 3, kDownsample},
                                {1, 16, 12, 4, 48, 2, {.stride = 2}}, {1, 20, 20, 64, 64, 3, same(1)},
                                {1, 13, 9, 64, 64, 3, same(1)},       {1, 1, 1, 5, 7, 1, same(0)},
                                {1, 3, 2, 8, 8, 3, same(1)},          {1, 9, 9, 12, 20, 5, same(2)}};
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const auto type : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(::testing::Message() << "case " << i << " " << to_string(type));
      check(cases[i], type, type, DType::f32);
    }
}

TEST(Conv2d, Groups) {
  for (const auto type : {DType::f32, DType::bf16}) {
    SCOPED_TRACE(to_string(type));
    check({1, 10, 12, 32, 64, 3, same(1, 4)}, type, type, DType::f32);
    check({2, 9, 7, 48, 48, 3, same(1, 48)}, type, type, DType::f32);
  }
}

// Weights over the limit up to which half precision is kept as f32 (8 MiB).
TEST(Conv2d, LargeHalfWeights) {
  check({1, 4, 5, 520, 512, 3, same(1)}, DType::f32, DType::bf16, DType::f32);
  check({1, 3, 3, 520, 512, 3, same(1)}, DType::f16, DType::f16, DType::f16);
}

// One prepared copy serves all sizes.
TEST(Conv2d, FormatDoesNotDependOnSize) {
  const auto format = [](std::int64_t batch, std::int64_t height, std::int64_t width, Conv2d op) {
    Bench bench(op, conv_operands({batch, height, width, 64, 96, 3, op}, DType::f32, DType::f32, DType::f32));
    const auto wanted = bench.kernel()->format(1);
    return wanted ? wanted->id() : "";
  };
  for (const auto& op : {same(1), kDownsample}) {
    const auto id = format(1, 64, 64, op);
    EXPECT_NE(id, "");
    EXPECT_EQ(id, format(1, 8, 8, op));
    EXPECT_EQ(id, format(4, 13, 9, op));
    EXPECT_EQ(id, format(1, 97, 51, op));
  }
}

TEST(Conv2d, PaddingWiderThanTheKernel) {
  const Conv2d op{.stride = 1, .pad_top = 3, .pad_bottom = 0, .pad_left = 4, .pad_right = 2, .groups = 1};
  const auto operands = conv_operands({1, 5, 6, 8, 8, 2, op}, DType::f32, DType::f32, {});
  Bench bench(op, operands);
  const Tensor& result = bench.run();
  expect_sums(result, expected_conv(op, operands, result.shape()), 32);
}

TEST(Conv2d, NoImages) {
  EXPECT_EQ(
      Bench(same(1), conv_operands({0, 5, 6, 8, 8, 3, same(1)}, DType::f32, DType::f32, {})).run().numel(),
      0);
}

}  // namespace
}  // namespace perfuse::cpu::test
