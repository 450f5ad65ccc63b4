// Cutting a graph into the parts that are compiled as one unit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/graph/graph.h"

namespace perfuse::graph {

enum class Granularity { op, block, whole };
[[nodiscard]] std::string_view to_string(Granularity granularity);
[[nodiscard]] std::optional<Granularity> parse_granularity(std::string_view name);

struct Segment {
  std::string name;  // "transformer_blocks.3"
  // Values renumbered from 0; parameters, inputs and outputs in order of first use; names are
  // param0…, input0…, output0…
  Graph program;
  std::string key;  // canonical_text(program): equal keys share one executable
  bool on_host = false;
  // By position in `program`: index into the whole graph's parameters, its value ids of inputs and outputs.
  std::vector<int> parameters;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
};

// Runs of consecutive nodes: each node (op), each block and what lies between blocks (block), all (whole). Nodes for which
// `on_host` is true are parts of their own, whatever the granularity.
using NodePredicate = std::function<bool(const Node& node)>;
[[nodiscard]] std::vector<Segment> cut(const Graph& graph, Granularity granularity,
                                       const NodePredicate& on_host = {});

}  // namespace perfuse::graph
