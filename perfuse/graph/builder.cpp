#include "perfuse/graph/builder.h"

#include <fmt/format.h>

#include <utility>

#include "perfuse/core/error.h"

namespace perfuse::graph {
namespace {

// The nodes that some output is made of.
std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed_value(graph.types.size(), false);
  for (const auto& output : graph.outputs) needed_value[static_cast<std::size_t>(output.value)] = true;
  std::vector<bool> needed(graph.nodes.size(), false);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const auto& node = graph.nodes[i];
    if (!needed_value[static_cast<std::size_t>(node.result)]) continue;
    needed[i] = true;
    for (const auto operand : node.operands) needed_value[static_cast<std::size_t>(operand)] = true;
  }
  return needed;
}

}  // namespace

Builder::Builder(std::string name, const WeightFiles* weights, DType compute)
    : weights_(weights), compute_(compute) {
  graph_.name = std::move(name);
}

std::int64_t Builder::dim(Value value, int axis) const {
  const auto& s = shape(value);
  return s.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<int>(s.size()) : axis));
}

Builder::Scope::~Scope() {
  builder_.path_.resize(path_length_);
  builder_.block_ = block_;
}

Builder::Scope Builder::scope(std::string_view name) {
  const std::size_t length = path_.size();
  if (!name.empty()) path_ = qualified(name);
  return {*this, length, block_};
}

Builder::Scope Builder::block(std::string_view name) {
  const std::size_t length = path_.size();
  const int outer = block_;
  path_ = qualified(name);
  if (block_ < 0) {
    block_ = static_cast<int>(graph_.block_names.size());
    graph_.block_names.push_back(path_);
  }
  return {*this, length, outer};
}

std::string Builder::qualified(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

Value Builder::module_output(Value value, std::string_view suffix) {
  graph_.module_outputs[path_ + std::string(suffix)] = value.id;
  return value;
}

Value Builder::new_value(ValueType type) {
  graph_.types.push_back(std::move(type));
  return {static_cast<ValueId>(graph_.types.size()) - 1};
}

Value Builder::input(const std::string& name, ValueType type) {
  const Value value = new_value(std::move(type));
  graph_.inputs.push_back({name, value.id});
  return value;
}

Value Builder::parameter(std::string_view name, const Shape& shape) {
  return parameter(name, shape, stored_as({qualified(name)}, shape));
}

Value Builder::parameter(std::string_view name, const Shape& shape, Recipe recipe) {
  const std::string full = qualified(name);
  const auto [place, is_new] = parameter_values_.try_emplace(full, -1);
  if (!is_new) {
    const Value known{place->second};
    if (this->shape(known) != shape)
      fail(ErrorKind::usage, "{}: parameter {} declared as {} and as {}", graph_.name, full,
           perfuse::to_string(this->shape(known)), perfuse::to_string(shape));
    return known;
  }
  if (weights_ == nullptr)
    fail(ErrorKind::usage, "{}: parameter {} in a program without weights", graph_.name, full);
  const DType stored = check(recipe, *weights_, problems_);
  const Value value = new_value({compute_ == DType::f32 ? stored : compute_, shape_of(recipe, shape)});
  place->second = value.id;
  graph_.parameters.push_back({full, value.id, std::move(recipe)});
  return value;
}

void Builder::output(const std::string& name, Value value) { graph_.outputs.push_back({name, value.id}); }

Value Builder::add_node(Op op, const std::vector<Value>& operands) {
  std::vector<ValueType> types;
  std::vector<ValueId> ids;
  for (const auto operand : operands) {
    types.push_back(type(operand));
    ids.push_back(operand.id);
  }
  ValueType result_type;
  try {
    result_type = infer(op, types);
  } catch (const Error& error) {
    fail(ErrorKind::model, "{}: {}: {}", graph_.name, path_, error.what());
  }
  const Value result = new_value(std::move(result_type));
  graph_.nodes.push_back({std::move(op), std::move(ids), result.id, path_, block_});
  return result;
}

Value Builder::linear(Value x, Value weight, Value bias) {
  return add_node(op::Linear{}, bias.valid() ? std::vector{x, weight, bias} : std::vector{x, weight});
}

Value Builder::conv2d(Value x, Value weight, Value bias, op::Conv2d attributes) {
  return add_node(attributes, bias.valid() ? std::vector{x, weight, bias} : std::vector{x, weight});
}

Value Builder::group_norm(Value x, Value weight, Value bias, std::int64_t groups, double eps) {
  return add_node(op::GroupNorm{groups, eps}, {x, weight, bias});
}

Value Builder::layer_norm(Value x, double eps, Value weight, Value bias) {
  return add_node(op::LayerNorm{eps}, weight.valid() ? std::vector{x, weight, bias} : std::vector{x});
}

Value Builder::rms_norm(Value x, Value weight, double eps) { return add_node(op::RmsNorm{eps}, {x, weight}); }

Value Builder::attention(Value q, Value k, Value v, Value bias, double scale, bool causal) {
  return add_node(op::Attention{scale, causal},
                  bias.valid() ? std::vector{q, k, v, bias} : std::vector{q, k, v});
}

Value Builder::unary(op::UnaryKind kind, Value x) { return add_node(op::Unary{kind}, {x}); }
Value Builder::add(Value a, Value b) { return add_node(op::Binary{op::BinaryKind::add}, {a, b}); }
Value Builder::sub(Value a, Value b) { return add_node(op::Binary{op::BinaryKind::sub}, {a, b}); }
Value Builder::mul(Value a, Value b) { return add_node(op::Binary{op::BinaryKind::mul}, {a, b}); }
Value Builder::affine(Value x, double scale, double offset) {
  return add_node(op::Affine{scale, offset}, {x});
}

Value Builder::reshape(Value x, Shape shape) {
  return this->shape(x) == shape ? x : add_node(op::Reshape{std::move(shape)}, {x});
}

Value Builder::transpose(Value x, std::vector<int> axes) {
  return add_node(op::Transpose{std::move(axes)}, {x});
}

Value Builder::concat(const std::vector<Value>& parts, int axis) {
  return parts.size() == 1 ? parts[0] : add_node(op::Concat{axis}, parts);
}

Value Builder::slice(Value x, int axis, std::int64_t begin, std::int64_t end) {
  return add_node(op::Slice{axis, begin, end}, {x});
}

Value Builder::broadcast(Value x, Shape shape) {
  return this->shape(x) == shape ? x : add_node(op::Broadcast{std::move(shape)}, {x});
}

Value Builder::upsample_nearest(Value x, std::int64_t height, std::int64_t width) {
  return add_node(op::UpsampleNearest{height, width}, {x});
}

Value Builder::embedding(Value table, Value ids) { return add_node(op::Embedding{compute_}, {table, ids}); }

Value Builder::convert(Value x, DType dtype) {
  return type(x).dtype == dtype ? x : add_node(op::Convert{dtype}, {x});
}

Value Builder::timestep_embedding(Value t, op::TimestepEmbedding attributes) {
  return add_node(attributes, {t});
}

Value Builder::linear_combination(Value coefficients, const std::vector<Value>& terms, DType dtype) {
  std::vector<Value> operands{coefficients};
  operands.insert(operands.end(), terms.begin(), terms.end());
  return add_node(op::LinearCombination{dtype}, operands);
}

Graph Builder::finish() {
  if (!problems_.empty()) {
    // All of them: a wrong checkpoint is recognised by the pattern. A few hundred lines would hide it.
    constexpr std::size_t kMost = 20;
    std::string text;
    for (std::size_t i = 0; i < problems_.size() && i < kMost; ++i)
      text += (i == 0 ? "" : "; ") + problems_[i];
    if (problems_.size() > kMost) text += fmt::format("; and {} more", problems_.size() - kMost);
    fail(ErrorKind::model, "{}: {} weight{} do{} not fit {}: {}", weights_->folder().string(),
         problems_.size(), problems_.size() == 1 ? "" : "s", problems_.size() == 1 ? "es" : "", graph_.name,
         text);
  }
  const auto needed = needed_nodes(graph_);
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (needed[i]) {
      kept.push_back(std::move(graph_.nodes[i]));
    } else {
      const auto result = graph_.nodes[i].result;
      std::erase_if(graph_.module_outputs, [&](const auto& entry) { return entry.second == result; });
    }
  }
  graph_.nodes = std::move(kept);
  return std::move(graph_);
}

}  // namespace perfuse::graph
