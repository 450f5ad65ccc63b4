#include "tests/reference/op_cases.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace perfuse::reference {
namespace {

namespace op = graph::op;
using Cases = std::vector<OpCase>;

constexpr double kUnit = 0x1p-24;  // rounding to f32 changes a value by at most this part of it
constexpr std::array kFloats{DType::f32, DType::bf16, DType::f16};
constexpr std::array kGraphTypes{DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8, DType::boolean};

double unit_of(DType dtype) { return dtype == DType::bf16 ? 0x1p-8 : dtype == DType::f16 ? 0x1p-11 : kUnit; }

// Reference and result are each rounded once; where their values before that differ by an f32 error, they may land on
// neighbours. f16 is subnormal below 2^-14.
double rounding(DType dtype) { return 2 * unit_of(dtype); }
double smallest(DType dtype) { return dtype == DType::f16 ? 0x1p-24 : 0; }

OperandCase value(DType dtype, Shape shape, double least = -1, double most = 1) {
  return {{dtype, std::move(shape)}, least, most, false};
}
OperandCase mask(DType dtype, Shape shape, double least, double most) {
  return {{dtype, std::move(shape)}, least, most, false, true};
}
OperandCase parameter(DType dtype, Shape shape, double least = -1, double most = 1) {
  return {{dtype, std::move(shape)}, least, most, true};
}
// Values that the type has, for ops that only move or compare them.
OperandCase any(DType dtype, Shape shape) {
  switch (dtype) {
    case DType::i32: return value(dtype, std::move(shape), -1e9, 1e9);
    case DType::u8: return value(dtype, std::move(shape), 0, 256);
    case DType::boolean: return value(dtype, std::move(shape), 0, 2);
    default: return value(dtype, std::move(shape), -100, 100);
  }
}

std::string describe(const std::vector<OperandCase>& operands) {
  std::string text;
  for (const auto& operand : operands) {
    text += fmt::format("{}{}", text.empty() ? "" : "_", to_string(operand.type.dtype));
    for (const auto size : operand.type.shape) text += fmt::format("x{}", size);
  }
  return text;
}

void add(Cases& cases, graph::Op op, std::vector<OperandCase> operands, double absolute, double relative,
         std::string_view variant = "") {
  auto name =
      fmt::format("{}/{}{}{}", graph::name_of(op), variant, variant.empty() ? "" : "/", describe(operands));
  cases.push_back({std::move(name), std::move(op), std::move(operands), absolute, relative});
}

// f32 sums of `length` products of values up to 1 in any order: each step loses a part of a partial sum of about
// √length, and the root of their number adds up. Twice that, as Winograd's convolution needs.
double sum_error(std::int64_t length) { return 2 * kUnit * (8.0 + static_cast<double>(length)); }

// x's type and weight's type: equal, and every pair that a file and an arithmetic may make.
constexpr std::array<std::pair<DType, DType>, 6> kWeightTypes{{{DType::f32, DType::f32},
                                                               {DType::bf16, DType::bf16},
                                                               {DType::f16, DType::f16},
                                                               {DType::f32, DType::bf16},
                                                               {DType::f32, DType::f16},
                                                               {DType::bf16, DType::f32}}};

void add_cases(const op::Linear&, Cases& cases) {
  struct Size {
    Shape x;
    std::int64_t n;
    bool bias;
  };
  const std::array<Size, 9> sizes{{{{1, 1}, 1, true},
                                   {{3, 7}, 17, true},
                                   {{17, 3}, 7, false},
                                   {{2, 5, 33}, 31, true},
                                   {{1, 256}, 1000, true},
                                   {{2, 1152}, 288, false},
                                   {{64, 64}, 64, true},
                                   {{120, 384}, 96, false},
                                   {{4, 77, 320}, 130, true}}};
  for (const auto& [x_type, w_type] : kWeightTypes) {
    for (const auto& [x, n, bias] : sizes) {
      std::vector<OperandCase> operands{value(x_type, x), parameter(w_type, {n, x.back()})};
      if (bias) operands.push_back(parameter(w_type, {n}));
      add(cases, op::Linear{}, std::move(operands), sum_error(x.back()) + smallest(x_type), rounding(x_type));
    }
  }
}

void add_cases(const op::Conv2d&, Cases& cases) {
  struct Size {
    Shape x, w;
    std::int64_t stride, top, bottom, left, right, groups;
    bool bias;
  };
  const std::array<Size, 10> sizes{{{{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 0, 0, 0, 0, 1, true},
                                    {{1, 7, 5, 3}, {17, 3, 3, 3}, 1, 1, 1, 1, 1, 1, true},
                                    {{2, 9, 13, 4}, {8, 3, 3, 4}, 2, 0, 1, 0, 1, 1, true},
                                    {{1, 8, 8, 4}, {24, 2, 2, 4}, 2, 0, 0, 0, 0, 1, true},
                                    {{1, 6, 7, 32}, {16, 1, 1, 32}, 1, 0, 0, 0, 0, 1, false},
                                    {{1, 10, 9, 8}, {16, 3, 3, 4}, 1, 1, 1, 1, 1, 2, true},
                                    {{1, 12, 11, 16}, {16, 3, 3, 1}, 1, 1, 1, 1, 1, 16, true},
                                    {{1, 17, 17, 3}, {7, 5, 3, 3}, 3, 2, 1, 0, 2, 1, false},
                                    {{1, 16, 16, 64}, {3, 3, 3, 64}, 1, 1, 1, 1, 1, 1, true},
                                    {{1, 20, 24, 64}, {48, 3, 3, 64}, 1, 1, 1, 1, 1, 1, true}}};
  for (const auto& [x_type, w_type] : kWeightTypes) {
    for (const auto& s : sizes) {
      const op::Conv2d conv{s.stride, s.top, s.bottom, s.left, s.right, s.groups};
      std::vector<OperandCase> operands{value(x_type, s.x), parameter(w_type, s.w)};
      if (s.bias) operands.push_back(parameter(w_type, {s.w[0]}));
      add(cases, conv, std::move(operands), sum_error(s.w[1] * s.w[2] * s.w[3]) + smallest(x_type),
          rounding(x_type), fmt::format("stride{}_groups{}", s.stride, s.groups));
    }
  }
}

// Normalised values reach about `reach`; a mean far from 0, in units of the deviation, costs its digits.
double norm_error(double reach, double mean_to_deviation) {
  return kUnit * 16 * reach * (1 + mean_to_deviation);
}

void add_cases(const op::GroupNorm&, Cases& cases) {
  struct Size {
    Shape x;
    std::int64_t groups;
    double centre;
  };
  const std::array<Size, 9> sizes{{{{1, 1, 1, 32}, 32, 0},
                                   {{1, 3, 7, 17}, 17, 0},
                                   {{2, 5, 3, 6}, 3, 0},
                                   {{2, 17, 64}, 32, 0},
                                   {{3, 96}, 8, 0},
                                   {{1, 16, 16, 320}, 32, 0},
                                   {{2, 31, 33, 128}, 32, 0},
                                   {{1, 16, 16, 64}, 32, 8},
                                   {{1, 192, 160, 64}, 32, 0.5}}};
  for (const auto& [x_type, w_type] : kWeightTypes) {
    for (const auto& [x, groups, centre] : sizes) {
      add(cases, op::GroupNorm{groups, 1e-5},
          {value(x_type, x, centre - 1, centre + 1), parameter(w_type, {x.back()}),
           parameter(w_type, {x.back()})},
          norm_error(4, 2 * centre) + smallest(x_type), rounding(x_type), fmt::format("groups{}", groups));
    }
  }
}

void add_cases(const op::LayerNorm&, Cases& cases) {
  struct Size {
    Shape x;
    double centre;
  };
  const std::array<Size, 7> sizes{{{{1}, 0},
                                   {{3, 3}, 0},
                                   {{2, 5, 17}, 0},
                                   {{1, 7, 1000}, 0},
                                   {{64, 384}, 0},
                                   {{5, 256}, 8},
                                   {{33, 4099}, 0.5}}};
  for (const auto& [x_type, w_type] : kWeightTypes) {
    for (const auto& [x, centre] : sizes) {
      std::vector<OperandCase> operands{value(x_type, x, centre - 1, centre + 1)};
      const double absolute = norm_error(4, 2 * centre) + smallest(x_type);
      if (x_type == w_type) add(cases, op::LayerNorm{1e-6}, operands, absolute, rounding(x_type), "plain");
      operands.push_back(parameter(w_type, {x.back()}));
      operands.push_back(parameter(w_type, {x.back()}));
      add(cases, op::LayerNorm{1e-5}, std::move(operands), absolute, rounding(x_type));
    }
  }
}

void add_cases(const op::RmsNorm&, Cases& cases) {
  const std::array<Shape, 6> shapes{Shape{1},       Shape{3, 7},    Shape{2, 5, 17},
                                    Shape{64, 384}, Shape{7, 1000}, Shape{2, 4096}};
  for (const auto& [x_type, w_type] : kWeightTypes)
    for (const auto& x : shapes)
      // The quotient is rounded too, and may land on a neighbour.
      add(cases, op::RmsNorm{}, {value(x_type, x), parameter(w_type, {x.back()})}, 2 * smallest(x_type),
          2 * rounding(x_type) + 16 * kUnit);
}

void add_cases(const op::Attention&, Cases& cases) {
  struct Size {
    Shape q, k, bias;
    bool causal;
    bool masked = false;
  };
  const std::array<Size, 14> sizes{{{{1, 1, 1, 1}, {1, 1, 1, 1}, {}, false},
                                    {{1, 3, 1, 7}, {1, 17, 1, 7}, {}, false},
                                    {{2, 17, 3, 8}, {2, 17, 3, 8}, {}, true},
                                    {{1, 5, 2, 16}, {1, 9, 2, 16}, {}, true},
                                    {{2, 7, 4, 16}, {2, 13, 2, 16}, {}, false},
                                    {{2, 33, 4, 24}, {2, 30, 4, 24}, {2, 1, 1, 30}, false},
                                    {{1, 30, 6, 32}, {1, 30, 6, 32}, {1, 6, 30, 30}, false},
                                    {{2, 16, 4, 64}, {2, 16, 1, 64}, {1, 1, 16, 16}, true},
                                    {{1, 256, 2, 72}, {1, 256, 2, 72}, {}, false},
                                    {{1, 100, 1, 512}, {1, 100, 1, 512}, {}, false},
                                    {{1, 70, 2, 40}, {1, 1100, 2, 40}, {1, 1, 1, 1100}, false},
                                    {{1, 9, 2, 16}, {1, 5, 2, 16}, {}, true},
                                    {{2, 5, 2, 8}, {2, 7, 2, 8}, {2, 1, 5, 7}, false, true},
                                    {{2, 5, 2, 8}, {2, 7, 2, 8}, {2, 1, 1, 7}, false, true}}};
  for (const auto type : kFloats) {
    for (const auto& [q, k, bias, causal, masked] : sizes) {
      const auto depth = q.back(), length = k[1];
      const double scale = 1 / std::sqrt(static_cast<double>(depth));
      std::vector<OperandCase> operands{value(type, q, -3, 3), value(type, k, -3, 3), value(type, k)};
      if (!bias.empty()) operands.push_back(masked ? mask(type, bias, -5, 5) : value(type, bias, -5, 5));
      // Errors of the scores become relative errors of the probabilities; values are up to 1.
      const double scores = 2 * scale * 9 * sum_error(depth) + kUnit * 32;
      add(cases, op::Attention{scale, causal}, std::move(operands),
          2 * scores + kUnit * (8 + std::sqrt(static_cast<double>(length))) + smallest(type), rounding(type),
          masked   ? "masked"
          : causal ? "causal"
                   : "full");
    }
  }
}

void add_cases(const op::Unary&, Cases& cases) {
  for (int i = 0; i <= static_cast<int>(op::UnaryKind::sin); ++i) {
    const auto kind = static_cast<op::UnaryKind>(i);
    const double least = kind == op::UnaryKind::sqrt ? 0 : -12;
    for (const auto type : kFloats)
      for (const Shape& shape :
           {Shape{}, Shape{1}, Shape{3, 7}, Shape{17}, Shape{5, 1000}, Shape{2, 64, 300}})
        add(cases, op::Unary{kind}, {value(type, shape, least, type == DType::f16 ? 10 : 12)},
            8 * kUnit + smallest(type), rounding(type) + 16 * kUnit, graph::to_string(kind));
  }
}

void add_cases(const op::Binary&, Cases& cases) {
  const std::array<std::pair<Shape, Shape>, 13> shapes{{{{}, {}},
                                                        {{1}, {17}},
                                                        {{3, 7}, {3, 7}},
                                                        {{3, 7}, {}},
                                                        {{5, 17}, {17}},
                                                        {{17}, {5, 17}},
                                                        {{2, 3, 7}, {2, 1, 7}},
                                                        {{2, 1, 96}, {2, 40, 96}},
                                                        {{2, 3, 7}, {3, 1}},
                                                        {{4, 1, 3}, {1, 5, 1}},
                                                        {{2, 9, 5, 3}, {9, 1, 3}},
                                                        {{40, 1000}, {40, 1000}},
                                                        {{3, 70, 301}, {3, 1, 301}}}};
  for (int i = 0; i <= static_cast<int>(op::BinaryKind::minimum); ++i) {
    const auto kind = static_cast<op::BinaryKind>(i);
    const bool divides = kind == op::BinaryKind::div;
    for (const auto type : kGraphTypes) {
      for (const auto& [a, b] : shapes) {
        auto left = any(type, a), right = any(type, b);
        if (type == DType::i32) left.least = right.least = -40000, left.most = right.most = 40000;
        if (is_floating(type) && divides) right.least = 0.5;
        const bool exact = !is_floating(type) || kind >= op::BinaryKind::maximum;
        add(cases, op::Binary{kind}, {left, right}, exact ? 0 : smallest(type), exact ? 0 : rounding(type),
            graph::to_string(kind));
      }
    }
  }
}

void add_cases(const op::Affine&, Cases& cases) {
  for (const auto type : kFloats)
    for (const Shape& shape : {Shape{}, Shape{3, 7}, Shape{17, 1000}, Shape{70001}})
      add(cases, op::Affine{0.18215, -0.3}, {value(type, shape, -4, 4)}, 4 * kUnit + smallest(type),
          rounding(type));
}

void add_cases(const op::Clamp&, Cases& cases) {
  for (const auto type : kFloats)
    for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{17, 1000}, Shape{70001}})
      add(cases, op::Clamp{-0.7, 1.1}, {value(type, shape, -4, 4)}, 0, 0);
}

void add_cases(const op::Softmax&, Cases& cases) {
  for (const auto type : kFloats)
    for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{2, 5, 17}, Shape{64, 300}, Shape{3, 4099}})
      add(cases, op::Softmax{}, {value(type, shape, -10, 10)}, smallest(type), rounding(type) + 48 * kUnit);
}

void add_cases(const op::Reshape&, Cases& cases) {
  for (const auto type : kGraphTypes) {
    add(cases, op::Reshape{{1}}, {any(type, {})}, 0, 0);
    add(cases, op::Reshape{{21}}, {any(type, {3, 7})}, 0, 0);
    add(cases, op::Reshape{{2, 40, 3, 500}}, {any(type, {2, 40, 1500})}, 0, 0);
  }
}

void add_cases(const op::Transpose&, Cases& cases) {
  const std::array<std::pair<Shape, std::vector<int>>, 9> variants{{{{7}, {0}},
                                                                    {{3, 7}, {1, 0}},
                                                                    {{1, 17, 1}, {2, 1, 0}},
                                                                    {{2, 7, 3, 16}, {0, 2, 1, 3}},
                                                                    {{2, 5, 33, 65}, {0, 3, 1, 2}},
                                                                    {{2, 65, 5, 33}, {0, 2, 3, 1}},
                                                                    {{3, 5, 7}, {2, 0, 1}},
                                                                    {{2, 8, 8, 4, 2, 2}, {0, 3, 1, 4, 2, 5}},
                                                                    {{300, 211}, {1, 0}}}};
  for (const auto type : kGraphTypes)
    for (const auto& [shape, axes] : variants)
      add(cases, op::Transpose{axes}, {any(type, shape)}, 0, 0, fmt::format("axes{}", fmt::join(axes, "")));
}

void add_cases(const op::Concat&, Cases& cases) {
  for (const auto type : kGraphTypes) {
    add(cases, op::Concat{0}, {any(type, {3, 7})}, 0, 0, "axis0");
    add(cases, op::Concat{0}, {any(type, {1, 17}), any(type, {3, 17}), any(type, {2, 17})}, 0, 0, "axis0");
    add(cases, op::Concat{1}, {any(type, {2, 3, 5}), any(type, {2, 1, 5})}, 0, 0, "axis1");
    add(cases, op::Concat{3}, {any(type, {2, 16, 17, 40}), any(type, {2, 16, 17, 24})}, 0, 0, "axis3");
    add(cases, op::Concat{0}, {any(type, {300, 301}), any(type, {200, 301})}, 0, 0, "axis0");
  }
}

void add_cases(const op::Slice&, Cases& cases) {
  for (const auto type : kGraphTypes) {
    add(cases, op::Slice{0, 2, 3}, {any(type, {7})}, 0, 0, "axis0");
    add(cases, op::Slice{1, 0, 7}, {any(type, {3, 17})}, 0, 0, "axis1");
    add(cases, op::Slice{1, 3, 4}, {any(type, {2, 5, 33})}, 0, 0, "axis1");
    add(cases, op::Slice{2, 64, 192}, {any(type, {2, 150, 192})}, 0, 0, "axis2");
    add(cases, op::Slice{0, 100, 400}, {any(type, {401, 300})}, 0, 0, "axis0");
  }
}

void add_cases(const op::Broadcast&, Cases& cases) {
  const std::array<std::pair<Shape, Shape>, 7> variants{{{{}, {3, 7}},
                                                         {{1}, {17}},
                                                         {{7}, {3, 7}},
                                                         {{3, 1}, {3, 17}},
                                                         {{2, 1, 5, 1}, {2, 3, 5, 7}},
                                                         {{1, 16, 300}, {40, 16, 300}},
                                                         {{3, 7}, {3, 7}}}};
  for (const auto type : kGraphTypes)
    for (const auto& [from, to] : variants)
      add(cases, op::Broadcast{to}, {any(type, from)}, 0, 0, fmt::format("to{}", fmt::join(to, "x")));
}

void add_cases(const op::UpsampleNearest&, Cases& cases) {
  struct Size {
    Shape x;
    std::int64_t height, width;
  };
  const std::array<Size, 6> sizes{{{{1, 1, 1, 1}, 3, 7},
                                   {{2, 3, 5, 3}, 6, 10},
                                   {{1, 7, 9, 4}, 13, 17},
                                   {{1, 9, 7, 17}, 5, 3},
                                   {{2, 10, 6, 8}, 12, 9},
                                   {{1, 48, 40, 64}, 96, 80}}};
  for (const auto type : kGraphTypes)
    for (const auto& [x, height, width] : sizes)
      add(cases, op::UpsampleNearest{height, width}, {any(type, x)}, 0, 0,
          fmt::format("to{}x{}", height, width));
}

void add_cases(const op::Embedding&, Cases& cases) {
  for (const auto table : kFloats) {
    for (const auto result : kFloats) {
      for (const auto& [ids, rows, channels] :
           {std::tuple{Shape{}, 1, 1}, std::tuple{Shape{3}, 7, 17}, std::tuple{Shape{2, 77}, 1000, 768},
            std::tuple{Shape{5}, 30, 2500}})
        add(cases, op::Embedding{result},
            {parameter(table, {rows, channels}), value(DType::i32, ids, 0, static_cast<double>(rows))}, 0, 0,
            fmt::format("to_{}", to_string(result)));
    }
  }
}

void add_cases(const op::Convert&, Cases& cases) {
  for (const auto from : kGraphTypes)
    for (const auto to : kGraphTypes)
      for (const Shape& shape : {Shape{}, Shape{3, 7}, Shape{17}, Shape{41, 1999}})
        add(cases, op::Convert{to}, {any(from, shape)}, 0, 0, fmt::format("to_{}", to_string(to)));
}

void add_cases(const op::TimestepEmbedding&, Cases& cases) {
  // An exponential that is off by a unit in the last place turns t = 999 by 2^-24 · 999.
  constexpr double most = 999;
  for (const auto& [count, embedding] : {std::pair{1, op::TimestepEmbedding{256, true, 0, 10000}},
                                         std::pair{3, op::TimestepEmbedding{320, false, 1, 10000}},
                                         std::pair{7, op::TimestepEmbedding{2, true, 0, 10000}}})
    add(cases, embedding, {value(DType::f32, {count}, 0, most)}, 2 * kUnit * most, rounding(DType::f32),
        fmt::format("dim{}", embedding.dim));
}

void add_cases(const op::LinearCombination&, Cases& cases) {
  for (const auto result : kFloats) {
    for (const Shape& shape : {Shape{}, Shape{3, 7}, Shape{1, 16, 16, 4}, Shape{2, 150, 301}}) {
      for (std::size_t terms : {1u, 2u, 3u, 5u}) {
        std::vector<OperandCase> operands{value(DType::f32, {static_cast<std::int64_t>(terms)}, -2, 2)};
        for (std::size_t i = 0; i < terms; ++i) operands.push_back(value(kFloats[i % 3], shape));
        const double bound = 2 * static_cast<double>(terms) * static_cast<double>(terms + 1) * kUnit;
        add(cases, op::LinearCombination{result}, std::move(operands), bound + smallest(result),
            rounding(result), fmt::format("to_{}", to_string(result)));
      }
    }
  }
}

// Every op of the variant: one without add_cases() doesn't compile, one that adds nothing is a test's failure.
template <std::size_t... I> Cases all_cases(std::index_sequence<I...>) {
  Cases cases;
  (add_cases(std::variant_alternative_t<I, graph::Op>{}, cases), ...);
  return cases;
}

// splitmix64: a generator whose whole definition is these lines, so that every backend sees the same numbers.
struct Random {
  std::uint64_t state;
  double operator()() {  // in [0, 1)
    std::uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
};

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const Cases cases = all_cases(std::make_index_sequence<std::variant_size_v<graph::Op>>());
  return cases;
}

std::vector<graph::ValueType> operand_types(const OpCase& test) {
  std::vector<graph::ValueType> types;
  for (const auto& operand : test.operands) types.push_back(operand.type);
  return types;
}

std::vector<Tensor> make_operands(const OpCase& test) {
  std::vector<Tensor> tensors;
  for (const auto& operand : test.operands) {
    Random random{tensors.size() * 1000003 + static_cast<std::uint64_t>(operand.type.numel())};
    Tensor tensor = Tensor::empty(operand.type.dtype, operand.type.shape);
    visit_dtype(operand.type.dtype, [&](auto zero) {
      using T = decltype(zero);
      std::int64_t position = -1;
      for (auto& x : tensor.mutable_data<T>()) {
        ++position;
        const double drawn = operand.least + random() * (operand.most - operand.least);
        if constexpr (std::is_same_v<T, bool>)
          x = drawn >= 1;
        else if constexpr (std::is_integral_v<T>)
          x = static_cast<T>(std::floor(drawn));
        else if constexpr (std::is_same_v<T, double>)
          x = drawn;
        else if (operand.masked && (position < operand.type.shape.back() || position % 3 == 0))
          x = T(-std::numeric_limits<float>::infinity());
        else
          x = T(static_cast<float>(drawn));
      }
    });
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::optional<std::string> difference(const OpCase& test, const Tensor& expected, const Tensor& actual,
                                      double slack) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape())
    return fmt::format("{}: {}{}, expected {}{}", test.name, to_string(actual.dtype()),
                       to_string(actual.shape()), to_string(expected.dtype()), to_string(expected.shape()));
  const Tensor wanted = expected.to(DType::f64), found = actual.to(DType::f64);
  double worst = 1;
  std::optional<std::string> message;
  for (std::size_t i = 0; i < wanted.data<double>().size(); ++i) {
    const double a = wanted.data<double>()[i], b = found.data<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double bound = slack * (test.absolute + test.relative * std::abs(a));
    const double times = bound > 0 ? std::abs(a - b) / bound : HUGE_VAL;
    if (times <= worst) continue;  // never true of NaN
    worst = std::isnan(times) ? HUGE_VAL : times;
    message = fmt::format("{}: element {} is {}, expected {} within {:.3g} ({:.3g} times as far)", test.name,
                          i, b, a, bound, worst);
    if (worst == HUGE_VAL) break;
  }
  return message;
}

}  // namespace perfuse::reference
