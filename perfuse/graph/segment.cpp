#include "perfuse/graph/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace perfuse::graph {
namespace {

constexpr ValueId kUnused = -1;

// Where the values of the whole graph come from and who needs them last.
struct ValueUse {
  std::vector<int> parameter;  // index of the parameter, or −1
  std::vector<int> last_use;   // index of the last node that reads it; the number of nodes for outputs
};

ValueUse uses_of(const Graph& graph) {
  ValueUse use{std::vector<int>(graph.types.size(), -1), std::vector<int>(graph.types.size(), -1)};
  for (std::size_t i = 0; i < graph.parameters.size(); ++i)
    use.parameter[static_cast<std::size_t>(graph.parameters[i].value)] = static_cast<int>(i);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const auto operand : graph.nodes[i].operands)
      use.last_use[static_cast<std::size_t>(operand)] = static_cast<int>(i);
  for (const auto& output : graph.outputs)
    use.last_use[static_cast<std::size_t>(output.value)] = static_cast<int>(graph.nodes.size());
  return use;
}

// Nodes begin … end − 1 of the graph as a program of their own.
Segment make_segment(const Graph& graph, const ValueUse& use, int begin, int end) {
  Segment segment;
  Graph& program = segment.program;
  std::map<ValueId, ValueId> local;  // whole graph's id → the program's
  const auto add_value = [&](ValueId id) {
    program.types.push_back(graph.type(id));
    return local[id] = static_cast<ValueId>(program.types.size()) - 1;
  };
  const auto operand = [&](ValueId id) {
    if (const auto found = local.find(id); found != local.end()) return found->second;
    const ValueId here = add_value(id);
    if (const int parameter = use.parameter[static_cast<std::size_t>(id)]; parameter >= 0) {
      program.parameters.push_back({fmt::format("param{}", segment.parameters.size()), here, {}});
      segment.parameters.push_back(parameter);
    } else {
      program.inputs.push_back({fmt::format("input{}", segment.inputs.size()), here});
      segment.inputs.push_back(id);
    }
    return here;
  };

  for (int i = begin; i < end; ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    Node copy{node.op, {}, kUnused, node.path, -1};
    for (const auto id : node.operands) copy.operands.push_back(operand(id));
    copy.result = add_value(node.result);
    program.nodes.push_back(std::move(copy));
  }
  for (int i = begin; i < end; ++i) {
    const ValueId result = graph.nodes[static_cast<std::size_t>(i)].result;
    if (use.last_use[static_cast<std::size_t>(result)] < end) continue;
    program.outputs.push_back({fmt::format("output{}", segment.outputs.size()), local.at(result)});
    segment.outputs.push_back(result);
  }
  const Node& first = graph.nodes[static_cast<std::size_t>(begin)];
  segment.name = first.block >= 0 ? graph.block_names[static_cast<std::size_t>(first.block)] : first.path;
  if (segment.name.empty()) segment.name = graph.name;
  program.name = segment.name;
  segment.key = canonical_text(program);
  return segment;
}

}  // namespace

std::string_view to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::op: return "op";
    case Granularity::block: return "block";
    case Granularity::whole: return "whole";
  }
  return "?";
}

std::optional<Granularity> parse_granularity(std::string_view name) {
  for (const auto granularity : {Granularity::op, Granularity::block, Granularity::whole})
    if (to_string(granularity) == name) return granularity;
  return std::nullopt;
}

std::vector<Segment> cut(const Graph& graph, Granularity granularity, const NodePredicate& on_host) {
  const ValueUse use = uses_of(graph);
  const int count = static_cast<int>(graph.nodes.size());
  std::vector<bool> host(graph.nodes.size(), false);
  if (on_host) std::transform(graph.nodes.begin(), graph.nodes.end(), host.begin(), on_host);
  // Whether the node at `next` belongs to the part that begins at `begin`.
  const auto together = [&](int begin, int next) {
    const auto a = static_cast<std::size_t>(begin), b = static_cast<std::size_t>(next);
    if (host[a] != host[b] || granularity == Granularity::op) return false;
    return granularity == Granularity::whole || graph.nodes[a].block == graph.nodes[b].block;
  };
  std::vector<Segment> segments;
  for (int begin = 0; begin < count;) {
    int end = begin + 1;
    while (end < count && together(begin, end)) ++end;
    segments.push_back(make_segment(graph, use, begin, end));
    segments.back().on_host = host[static_cast<std::size_t>(begin)];
    begin = end;
  }
  return segments;
}

}  // namespace perfuse::graph
