#include "perfuse/graph/graph.h"

#include <fmt/format.h>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::graph {
namespace {

std::string operand_list(const Node& node) {
  std::string text;
  for (const auto operand : node.operands) text += fmt::format("{}%{}", text.empty() ? "" : ", ", operand);
  return text;
}

}  // namespace

void tap(Graph& graph, const std::string& path) {
  const auto found = graph.module_outputs.find(path);
  if (found == graph.module_outputs.end()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : graph.module_outputs) known.push_back(name);
    fail(ErrorKind::usage, "{}: {}", graph.name, unknown_name("module path", path, known));
  }
  graph.outputs.push_back({path, found->second});
}

std::string to_text(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (const auto& port : graph.inputs)
    text += fmt::format("  %{} = input {}: {}\n", port.value, port.name, to_string(graph.type(port.value)));
  for (const auto& parameter : graph.parameters)
    text += fmt::format("  %{} = parameter {}: {}\n", parameter.value, parameter.name,
                        to_string(graph.type(parameter.value)));
  int block = -1;
  for (const auto& node : graph.nodes) {
    if (node.block != block) {
      block = node.block;
      text += block < 0 ? "  -- between blocks\n"
                        : fmt::format("  -- block {}\n", graph.block_names[static_cast<std::size_t>(block)]);
    }
    text += fmt::format("  %{} = {} {}: {}  # {}\n", node.result, to_string(node.op), operand_list(node),
                        to_string(graph.type(node.result)), node.path);
  }
  for (const auto& port : graph.outputs) text += fmt::format("  output {} = %{}\n", port.name, port.value);
  return text;
}

std::string to_dot(const Graph& graph) {
  std::string text =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"monospace\"];\n", graph.name);
  for (const auto& port : graph.inputs)
    text += fmt::format("  v{} [shape=ellipse, label=\"{}\\n{}\"];\n", port.value, port.name,
                        to_string(graph.type(port.value)));
  int block = -1;
  for (const auto& node : graph.nodes) {
    if (node.block != block) {
      if (block >= 0) text += "  }\n";
      block = node.block;
      if (block >= 0)
        text += fmt::format("  subgraph cluster_{} {{ label=\"{}\";\n", block,
                            graph.block_names[static_cast<std::size_t>(block)]);
    }
    text += fmt::format("  v{} [label=\"{}\\n{}\\n{}\"];\n", node.result, to_string(node.op),
                        to_string(graph.type(node.result)), node.path);
  }
  if (block >= 0) text += "  }\n";
  std::vector<bool> is_parameter(graph.types.size(), false);
  for (const auto& parameter : graph.parameters)
    is_parameter[static_cast<std::size_t>(parameter.value)] = true;
  for (const auto& node : graph.nodes)
    for (const auto operand : node.operands)
      if (!is_parameter[static_cast<std::size_t>(operand)])
        text += fmt::format("  v{} -> v{};\n", operand, node.result);
  for (const auto& port : graph.outputs)
    text += fmt::format("  \"out {}\" [shape=ellipse, label=\"{}\"];\n  v{} -> \"out {}\";\n", port.name,
                        port.name, port.value, port.name);
  return text + "}\n";
}

std::string canonical_text(const Graph& graph) {
  std::string text;
  for (const auto& port : graph.inputs)
    text += fmt::format("i%{}:{};", port.value, to_string(graph.type(port.value)));
  for (const auto& parameter : graph.parameters)
    text += fmt::format("p%{}:{};", parameter.value, to_string(graph.type(parameter.value)));
  for (const auto& node : graph.nodes)
    text += fmt::format("%{}={} {};", node.result, to_string(node.op), operand_list(node));
  for (const auto& port : graph.outputs) text += fmt::format("o%{};", port.value);
  return text;
}

}  // namespace perfuse::graph
