#include "perfuse/nn/layers.h"

#include <array>
#include <cctype>
#include <span>
#include <string>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::nn {

Value linear(Builder& b, std::string_view name, Value x, std::int64_t out_features, Bias bias) {
  const auto scope = b.scope(name);
  const Value weight = b.parameter("weight", {out_features, b.dim(x, -1)});
  return b.module_output(
      b.linear(x, weight, bias == Bias::yes ? b.parameter("bias", {out_features}) : Value{}));
}

Value conv2d(Builder& b, std::string_view name, Value x, std::int64_t out_channels, std::int64_t kernel,
             std::int64_t stride, std::int64_t padding) {
  return conv2d_padded(b, name, x, out_channels, kernel, {stride, padding, padding, padding, padding, 1});
}

Value conv2d_padded(Builder& b, std::string_view name, Value x, std::int64_t out_channels,
                    std::int64_t kernel, graph::op::Conv2d attributes) {
  const auto scope = b.scope(name);
  const Shape ohwi{out_channels, kernel, kernel, b.dim(x, -1) / attributes.groups};
  const Value weight = b.parameter("weight", ohwi, graph::stored_as_oihw({b.qualified("weight")}, ohwi));
  return b.module_output(b.conv2d(x, weight, b.parameter("bias", {out_channels}), attributes));
}

Value group_norm(Builder& b, std::string_view name, Value x, std::int64_t groups, double eps) {
  const auto scope = b.scope(name);
  const auto channels = b.dim(x, -1);
  return b.module_output(
      b.group_norm(x, b.parameter("weight", {channels}), b.parameter("bias", {channels}), groups, eps));
}

Value layer_norm_plain(Builder& b, std::string_view name, Value x, double eps) {
  const auto scope = b.scope(name);
  return b.module_output(b.layer_norm(x, eps));
}

Value rms_norm(Builder& b, std::string_view name, Value x, double eps) {
  const auto scope = b.scope(name);
  return b.module_output(b.rms_norm(x, b.parameter("weight", {b.dim(x, -1)}), eps));
}

namespace {

using NamedActivation = std::pair<std::string_view, graph::op::UnaryKind>;
using enum graph::op::UnaryKind;

constexpr auto kTransformersActivations = std::to_array<NamedActivation>({{"gelu", gelu},
                                                                          {"gelu_python", gelu},
                                                                          {"gelu_new", gelu_tanh},
                                                                          {"gelu_fast", gelu_tanh},
                                                                          {"gelu_accurate", gelu_tanh},
                                                                          {"gelu_pytorch_tanh", gelu_tanh},
                                                                          {"quick_gelu", quick_gelu},
                                                                          {"relu", relu},
                                                                          {"silu", silu},
                                                                          {"swish", silu}});
constexpr auto kDiffusersActivations =
    std::to_array<NamedActivation>({{"gelu", gelu}, {"relu", relu}, {"silu", silu}, {"swish", silu}});
constexpr auto kFeedForwardActivations =
    std::to_array<NamedActivation>({{"gelu", gelu}, {"gelu-approximate", gelu_tanh}, {"linear-silu", silu}});

std::span<const NamedActivation> table_of(ActivationNames names) {
  switch (names) {
    case ActivationNames::transformers: return kTransformersActivations;
    case ActivationNames::diffusers: return kDiffusersActivations;
    case ActivationNames::feed_forward: return kFeedForwardActivations;
  }
  return {};
}

}  // namespace

graph::op::UnaryKind activation(ActivationNames names, std::string_view name, std::string_view where) {
  std::string wanted(name);
  if (names == ActivationNames::diffusers)
    for (char& c : wanted) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> known;
  for (const auto& [key, kind] : table_of(names)) {
    if (key == wanted) return kind;
    known.emplace_back(key);
  }
  fail(ErrorKind::unsupported, "{}: {}", where, unknown_name("activation", name, known));
}

}  // namespace perfuse::nn
