// What the table of cases can't say of norms, elementwise ops and data movement: accuracy in units of the last place,
// NaN and infinity, integer corners, wrong ids, empty tensors, repeatability.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "tests/backends_cpu/heavy_checks.h"
#include "tests/backends_cpu/heavy_kernels.h"
#include "tests/reference/reference_ops.h"

namespace perfuse::cpu::test {
namespace {

namespace op = graph::op;
using graph::op::BinaryKind;
using graph::op::UnaryKind;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T> std::vector<T> elements_of(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

template <class OpType> Tensor run_op(const OpType& op, const std::vector<Tensor>& operands) {
  return Bench(op, operands, operands.size()).run_apart();
}

template <class OpType> std::vector<float> run_f32(const OpType& op, const std::vector<float>& x) {
  return elements_of<float>(run_op(op, {Tensor::from<float>({static_cast<std::int64_t>(x.size())}, x)}));
}

// Distance from the true value in units of its last place (of the least normal number below that).
double units_off(float found, double expected) {
  if (std::isinf(found) && std::abs(expected) > static_cast<double>(std::numeric_limits<float>::max()))
    return 0;
  const int exponent = std::max(std::ilogb(expected), -126);
  return std::abs(static_cast<double>(found) - expected) / std::ldexp(1.0, exponent - 23);
}

struct Accuracy {
  UnaryKind kind;
  float least, most;
  double units;  // allowed
};

class UnaryAccuracy : public ::testing::TestWithParam<Accuracy> {};

TEST_P(UnaryAccuracy, InUnitsOfTheLastPlace) {
  const auto [kind, least, most, units] = GetParam();
  std::vector<float> x;
  for (int i = 0; i <= 400000; ++i) x.push_back(least + (most - least) * static_cast<float>(i) / 400000.0f);
  for (float tiny = 1e-30f; tiny < 1; tiny *= 1.01f)
    for (const float value : {tiny, -tiny})
      if (value >= least && value <= most) x.push_back(value);
  const auto y = run_f32(op::Unary{kind}, x);
  // The reference, but in double to the end.
  const Tensor exact =
      reference::evaluate(op::Unary{kind}, {Tensor::from<float>({static_cast<std::int64_t>(x.size())}, x)},
                          {DType::f64, {static_cast<std::int64_t>(x.size())}});
  double worst = 0;
  float at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = units_off(y[i], exact.data<double>()[i]);
    if (off > worst) worst = off, at = x[i];
  }
  RecordProperty("worst_units", std::to_string(worst));
  EXPECT_LE(worst, units) << "at " << at;
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, UnaryAccuracy,
    ::testing::Values(Accuracy{UnaryKind::exp, -87, 88.7f, 2}, Accuracy{UnaryKind::tanh, -12, 12, 2},
                      Accuracy{UnaryKind::sigmoid, -80, 30, 3}, Accuracy{UnaryKind::silu, -80, 30, 3},
                      Accuracy{UnaryKind::gelu, -12, 12, 6}, Accuracy{UnaryKind::gelu_tanh, -4, 12, 20},
                      Accuracy{UnaryKind::quick_gelu, -8, 12, 12}, Accuracy{UnaryKind::sqrt, 0, 1e6f, 0.5},
                      Accuracy{UnaryKind::square, -1e4f, 1e4f, 0.5}, Accuracy{UnaryKind::sin, -3, 3, 3},
                      Accuracy{UnaryKind::cos, -1.5f, 1.5f, 3}),
    [](const auto& param) { return std::string(graph::to_string(param.param.kind)); });

TEST(Unary, SpecialValues) {
  const std::vector<float> x{kNan, kInf, -kInf, 0, 1e30f, -1e30f, 200, -200};
  const auto expect = [&](UnaryKind kind, const std::vector<float>& expected) {
    const auto y = run_f32(op::Unary{kind}, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(expected[i]))
        EXPECT_TRUE(std::isnan(y[i])) << graph::to_string(kind) << " of " << x[i];
      else
        EXPECT_FLOAT_EQ(y[i], expected[i]) << graph::to_string(kind) << " of " << x[i];
    }
  };
  // −inf / (1 + inf) and −inf · 0: NaN in torch too.
  expect(UnaryKind::silu, {kNan, kInf, kNan, 0, 1e30f, 0, 200, 0});
  expect(UnaryKind::gelu, {kNan, kInf, kNan, 0, 1e30f, 0, 200, 0});
  expect(UnaryKind::relu, {kNan, kInf, 0, 0, 1e30f, 0, 200, 0});
  expect(UnaryKind::sigmoid, {kNan, 1, 0, 0.5f, 1, 0, 1, 0});
  expect(UnaryKind::tanh, {kNan, 1, -1, 0, 1, -1, 1, -1});
  expect(UnaryKind::exp, {kNan, kInf, 0, 1, kInf, 0, kInf, 0});
  expect(UnaryKind::sqrt, {kNan, kInf, kNan, 0, 1e15f, kNan, std::sqrt(200.0f), kNan});
  expect(UnaryKind::sin,
         {kNan, kNan, kNan, 0, std::sin(1e30f), std::sin(-1e30f), std::sin(200.0f), std::sin(-200.0f)});
  expect(UnaryKind::cos,
         {kNan, kNan, kNan, 1, std::cos(1e30f), std::cos(-1e30f), std::cos(200.0f), std::cos(-200.0f)});
  EXPECT_TRUE(std::isnan(run_f32(op::Clamp{-1, 1}, x)[0]));
  EXPECT_EQ(run_f32(op::Clamp{-1, 1}, x)[2], -1);
  EXPECT_FLOAT_EQ(run_f32(op::Unary{UnaryKind::exp}, {-100})[0], std::exp(-100.0f));  // subnormal
}

TEST(Binary, MaximumAndMinimumKeepNan) {
  const auto a = Tensor::from<float>({4}, {kNan, 1, kInf, 2}),
             b = Tensor::from<float>({4}, {1, kNan, 3, -kInf});
  for (const auto kind : {BinaryKind::maximum, BinaryKind::minimum}) {
    const auto y = elements_of<float>(run_op(op::Binary{kind}, {a, b}));
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_TRUE(std::isnan(y[1]));
    EXPECT_EQ(y[2], kind == BinaryKind::maximum ? kInf : 3);
    EXPECT_EQ(y[3], kind == BinaryKind::maximum ? 2 : -kInf);
  }
}

TEST(Binary, IntegerCorners) {
  constexpr auto least = std::numeric_limits<std::int32_t>::min(),
                 most = std::numeric_limits<std::int32_t>::max();
  const auto a = Tensor::from<std::int32_t>({4}, {7, least, -7, most}),
             b = Tensor::from<std::int32_t>({4}, {0, -1, 2, 1});
  EXPECT_EQ(elements_of<std::int32_t>(run_op(op::Binary{BinaryKind::div}, {a, b})),
            (std::vector<std::int32_t>{-1, least, -3, most}));
  EXPECT_EQ(elements_of<std::int32_t>(run_op(op::Binary{BinaryKind::add}, {a, b})),
            (std::vector<std::int32_t>{7, most, -5, least}));
}

TEST(Convert, EveryHalfAndBack) {
  std::vector<float> floats;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    if (!std::isnan(static_cast<float>(half))) floats.push_back(static_cast<float>(half));
    bfloat16 brain;
    brain.bits = static_cast<std::uint16_t>(bits);
    if (!std::isnan(static_cast<float>(brain))) floats.push_back(static_cast<float>(brain));
  }
  // Ties, and what is just beside them.
  for (std::size_t i = 0, count = floats.size(); i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(floats[i]);
    for (const std::uint32_t more : {0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u})
      if (const auto value = std::bit_cast<float>(bits + more); !std::isnan(value)) floats.push_back(value);
  }
  const auto x = Tensor::from<float>({static_cast<std::int64_t>(floats.size())}, floats);
  for (const auto type : {DType::f16, DType::bf16}) {
    const Tensor half = run_op(op::Convert{type}, {x});
    EXPECT_TRUE(std::ranges::equal(half.bytes(), x.to(type).bytes())) << to_string(type);
    EXPECT_TRUE(
        std::ranges::equal(run_op(op::Convert{DType::f32}, {half}).bytes(), half.to(DType::f32).bytes()));
    const auto nan =
        run_op(op::Convert{type}, {Tensor::from<float>({1}, {std::bit_cast<float>(0x7f800001u)})});
    EXPECT_TRUE(std::isnan(nan.to(DType::f32).data<float>()[0])) << to_string(type);
  }
}

TEST(Convert, FloatsStopAtTheEndsOfIntegers) {
  const auto x = Tensor::from<float>({7}, {kNan, kInf, -kInf, 3e9f, -3e9f, 2.9f, -2.9f});
  EXPECT_EQ(elements_of<std::int32_t>(run_op(op::Convert{DType::i32}, {x})),
            (std::vector<std::int32_t>{0, 2147483647, -2147483647 - 1, 2147483647, -2147483647 - 1, 2, -2}));
  EXPECT_EQ(elements_of<std::uint8_t>(run_op(op::Convert{DType::u8}, {x})),
            (std::vector<std::uint8_t>{0, 255, 0, 255, 0, 2, 0}));
}

TEST(Embedding, NamesAWrongId) {
  for (const std::int32_t wrong : {-1, 5, std::numeric_limits<std::int32_t>::min()}) {
    const std::vector<Tensor> operands{Tensor::zeros(DType::f32, {5, 3}),
                                       Tensor::from<std::int32_t>({3}, {0, 4, wrong})};
    try {
      static_cast<void>(run_op(op::Embedding{}, operands));
      ADD_FAILURE() << "id " << wrong << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(std::string(error.what()), "embedding: id " + std::to_string(wrong) +
                                               " at position 2, expected 0 to 4 (the table's rows)");
    }
  }
}

TEST(Softmax, MaskedAndBrokenRows) {
  const auto x = Tensor::from<float>({3, 3}, {-kInf, 0, 0, 1, kNan, 1, -kInf, -kInf, -kInf});
  const auto y = elements_of<float>(run_op(op::Softmax{}, {x}));
  EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 3)), (std::vector<float>{0, 0.5f, 0.5f}));
  for (std::size_t i = 3; i < 9; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
}

// A mean 1000 times the deviation: one pass of sums and squares in f32 would leave no digit.
TEST(Norms, KeepDigitsFarFromZero) {
  const Shape shape{1, 96, 64, 64};
  Tensor x = random_tensor(DType::f32, shape, 1);
  for (auto& value : x.mutable_data<float>()) value += 1000;
  const Tensor ones = Tensor::from<float>({64}, std::vector<float>(64, 1.0f)),
               zeros = Tensor::zeros(DType::f32, {64});
  const auto check = [&](const auto& op) {
    const Tensor expected = reference::evaluate(op, {x, ones, zeros}, {DType::f64, shape});
    const auto found = doubles(run_op(op, {x, ones, zeros}));
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
      worst = std::max(worst, std::abs(found[i] - expected.data<double>()[i]));
    EXPECT_LE(worst, 2e-6);
  };
  check(op::GroupNorm{32, 1e-5});
  check(op::LayerNorm{1e-5});
}

// Blocks of fixed size, combined in order: not even the number of threads changes the bytes.
TEST(GroupNorm, IsTheSameWithAnyNumberOfThreads) {
  const std::vector<Tensor> operands{random_tensor(DType::f32, {2, 77, 65, 96}, 1),
                                     random_tensor(DType::bf16, {96}, 2), random_tensor(DType::f32, {96}, 3)};
  Tensor first;
  for (const int threads : {1, 2, 3, 7}) {
    const ThreadCount count(threads);
    const Tensor result = run_op(op::GroupNorm{32, 1e-6}, operands);
    if (threads == 1) first = result;
    EXPECT_TRUE(std::ranges::equal(result.bytes(), first.bytes())) << threads << " threads";
  }
}

TEST(LightKernels, TakeEmptyTensors) {
  for (const auto type : kFloats) {
    const Tensor x = Tensor::zeros(type, {2, 0, 8}), row = Tensor::zeros(type, {8});
    EXPECT_EQ(run_op(op::Unary{}, {x}).numel(), 0);
    EXPECT_EQ(run_op(op::Binary{}, {x, row}).numel(), 0);
    EXPECT_EQ(run_op(op::Softmax{}, {x}).numel(), 0);
    EXPECT_EQ(run_op(op::LayerNorm{}, {x, row, row}).numel(), 0);
    EXPECT_EQ(run_op(op::RmsNorm{}, {x, row}).numel(), 0);
    EXPECT_EQ(run_op(op::GroupNorm{4}, {x, row, row}).numel(), 0);
    EXPECT_EQ(run_op(op::Transpose{{2, 1, 0}}, {x}).numel(), 0);
    EXPECT_EQ(run_op(op::Concat{1}, {x, x}).numel(), 0);
    EXPECT_EQ(run_op(op::Slice{2, 3, 3}, {x}).numel(), 0);
    EXPECT_EQ(run_op(op::Broadcast{{3, 2, 0, 8}}, {x}).numel(), 0);
    EXPECT_EQ(run_op(op::Convert{DType::i32}, {x}).numel(), 0);
  }
}

}  // namespace
}  // namespace perfuse::cpu::test
