#include "perfuse/hlo/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {
namespace {

class Lowering {
 public:
  Lowering(const graph::Graph& graph, const LoweringOptions& options)
      : graph_(graph),
        options_(options),
        builder_("program", options.exact_f32),
        values_(graph.types.size()),
        parameter_(graph.types.size(), -1) {
    for (std::size_t i = 0; i < graph.parameters.size(); ++i)
      parameter_[index(graph.parameters[i].value)] = static_cast<int>(i);
  }

  Program run() {
    for (const auto& port : graph_.inputs)
      values_[index(port.value)] = builder_.input(graph_.type(port.value));
    for (const auto& node : graph_.nodes)
      for (std::size_t i = 0; i < node.operands.size(); ++i)
        if (is_parameter(node.operands[i]))
          static_cast<void>(parameter_operand(node.operands[i], permutation(node, i)));
    for (const auto& port : graph_.outputs)
      if (is_parameter(port.value)) static_cast<void>(parameter_operand(port.value, {}));
    for (const auto& node : graph_.nodes) values_[index(node.result)] = lower_node(node);

    std::vector<Value> outputs;
    for (const auto& port : graph_.outputs) {
      outputs.push_back(is_parameter(port.value) ? parameter_operand(port.value, {})
                                                 : values_[index(port.value)]);
      program_.outputs.push_back(outputs.back().type);
    }
    program_.bytes = serialize(builder_.finish(outputs, aliases()));
    return std::move(program_);
  }

 private:
  static std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] bool is_parameter(graph::ValueId id) const { return parameter_[index(id)] >= 0; }

  static std::vector<int> permutation(const graph::Node& node, std::size_t operand) {
    return std::visit([&](const auto& op) { return wanted_permutation(op, operand); }, node.op);
  }

  // The entry operand that holds a parameter with its axes in this order; made at the first call.
  Value parameter_operand(graph::ValueId id, std::vector<int> order) {
    const int parameter = parameter_[index(id)];
    for (std::size_t i = 0; i < program_.parameters.size(); ++i)
      if (program_.parameters[i].parameter == parameter && program_.parameters[i].permutation == order)
        return parameter_values_[i];
    graph::ValueType type = graph_.type(id);
    for (std::size_t i = 0; i < order.size(); ++i)
      type.shape[i] = graph_.type(id).shape[static_cast<std::size_t>(order[i])];
    program_.parameters.push_back({parameter, std::move(order)});
    parameter_values_.push_back(builder_.input(type));
    return parameter_values_.back();
  }

  Value lower_node(const graph::Node& node) {
    std::vector<Value> operands;
    std::vector<bool> permuted;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const auto id = node.operands[i];
      const auto order = is_parameter(id) ? permutation(node, i) : std::vector<int>{};
      operands.push_back(is_parameter(id) ? parameter_operand(id, order) : values_[index(id)]);
      permuted.push_back(!order.empty());
    }
    const Context context{builder_, options_, operands, std::move(permuted), graph_.type(node.result)};
    Value result = std::visit([&](const auto& op) { return lower(op, context); }, node.op);
    if (result.type != context.result)
      fail(ErrorKind::compiler, "{}: {}: the HLO form gives {}, the op {}", node.path,
           graph::to_string(node.op), to_string(result.type), to_string(context.result));
    return result;
  }

  // Each output may take the memory of the first input of its type that no other output takes.
  std::vector<Builder::Alias> aliases() {
    program_.donated_to.assign(graph_.inputs.size(), -1);
    std::vector<Builder::Alias> result;
    for (std::size_t output = 0; output < program_.outputs.size(); ++output)
      for (std::size_t input = 0; input < graph_.inputs.size(); ++input) {
        if (program_.donated_to[input] >= 0 ||
            graph_.type(graph_.inputs[input].value) != program_.outputs[output])
          continue;
        program_.donated_to[input] = static_cast<int>(output);
        result.push_back({static_cast<int>(output), static_cast<int>(input)});
        break;
      }
    return result;
  }

  const graph::Graph& graph_;
  const LoweringOptions& options_;
  Builder builder_;
  Program program_;
  std::vector<Value> values_;            // by ValueId
  std::vector<int> parameter_;           // by ValueId: index of the parameter, or −1
  std::vector<Value> parameter_values_;  // by index into program_.parameters
};

}  // namespace

Program lower(const graph::Graph& graph, const LoweringOptions& options) {
  return Lowering(graph, options).run();
}

}  // namespace perfuse::hlo
