#include "perfuse/graph/ops.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perfuse::graph {
namespace {

struct AttributePrinter {
  std::string text;

  template <class T> void operator()(std::string_view name, const T& value) {
    if (!text.empty()) text += ", ";
    text += name;
    text += '=';
    if constexpr (std::is_same_v<T, Shape> || std::is_same_v<T, std::vector<int>>) {
      text += fmt::format("[{}]", fmt::join(value, ", "));
    } else if constexpr (std::is_enum_v<T>) {
      text += to_string(value);
    } else {
      text += fmt::format("{}", value);  // fmt prints the shortest form that reads back the same
    }
  }
};

}  // namespace

std::string to_string(const ValueType& type) {
  return fmt::format("{}{}", perfuse::to_string(type.dtype), perfuse::to_string(type.shape));
}

std::string_view to_string(op::UnaryKind kind) {
  switch (kind) {
    case op::UnaryKind::silu: return "silu";
    case op::UnaryKind::gelu: return "gelu";
    case op::UnaryKind::gelu_tanh: return "gelu_tanh";
    case op::UnaryKind::quick_gelu: return "quick_gelu";
    case op::UnaryKind::relu: return "relu";
    case op::UnaryKind::sigmoid: return "sigmoid";
    case op::UnaryKind::tanh: return "tanh";
    case op::UnaryKind::exp: return "exp";
    case op::UnaryKind::sqrt: return "sqrt";
    case op::UnaryKind::square: return "square";
    case op::UnaryKind::cos: return "cos";
    case op::UnaryKind::sin: return "sin";
  }
  return "?";
}

std::string_view to_string(op::BinaryKind kind) {
  switch (kind) {
    case op::BinaryKind::add: return "add";
    case op::BinaryKind::sub: return "sub";
    case op::BinaryKind::mul: return "mul";
    case op::BinaryKind::div: return "div";
    case op::BinaryKind::maximum: return "maximum";
    case op::BinaryKind::minimum: return "minimum";
  }
  return "?";
}

// Each step rounded to f32 in torch's order: logarithm times index, divided, exponential. What libm computes is
// computed in double and rounded, as an f32 exponential may be off by a unit in the last place, which at t = 999
// turns the sine by 6e-5.
std::vector<float> timestep_frequencies(const op::TimestepEmbedding& op) {
  const auto half = op.dim / 2;
  const auto logarithm = static_cast<float>(-std::log(op.max_period));
  const auto divisor = static_cast<float>(static_cast<double>(half) - op.downscale_freq_shift);
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < half; ++i) {
    const float exponent = logarithm * static_cast<float>(i) / divisor;
    frequencies.push_back(static_cast<float>(std::exp(static_cast<double>(exponent))));
  }
  return frequencies;
}

std::string_view name_of(const Op& op) {
  return std::visit([](const auto& o) { return o.name; }, op);
}

std::string to_string(const Op& op) {
  AttributePrinter printer;
  std::visit([&](const auto& o) { o.attributes(printer); }, op);
  if (printer.text.empty()) return std::string(name_of(op));
  return fmt::format("{}({})", name_of(op), printer.text);
}

}  // namespace perfuse::graph
