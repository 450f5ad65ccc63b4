// A graph: a device-neutral, statically shaped, typed program in single assignment. Built by Builder,
// cut into segments, compiled by backends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "perfuse/graph/ops.h"
#include "perfuse/graph/recipe.h"

namespace perfuse::graph {

using ValueId = std::int32_t;

struct Node {
  Op op;
  std::vector<ValueId> operands;
  ValueId result;
  // Where the model has it ("transformer_blocks.3.attn1"); for people, taps and errors, not for keys.
  std::string path;
  // The block instance it is part of; −1 outside all blocks. Blocks become segments.
  int block = -1;
};

struct Parameter {
  std::string name;  // canonical: "transformer_blocks.3.attn1.to_q.weight"
  ValueId value;
  Recipe recipe;
};

struct Port {
  std::string name;
  ValueId value;
};

struct Graph {
  std::string name;              // the component's, for messages
  std::vector<ValueType> types;  // by ValueId
  std::vector<Node> nodes;       // every operand is defined before its use
  std::vector<Parameter> parameters;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  std::vector<std::string> block_names;           // by Node::block
  std::map<std::string, ValueId> module_outputs;  // what can be tapped, by module path

  [[nodiscard]] const ValueType& type(ValueId value) const { return types[static_cast<std::size_t>(value)]; }
};

// Adds the output of module `path` to the graph's outputs under its path. Error(usage) with near names.
void tap(Graph& graph, const std::string& path);

// The program as text, one line a node.
[[nodiscard]] std::string to_text(const Graph& graph);
// The same for Graphviz, a cluster per block.
[[nodiscard]] std::string to_dot(const Graph& graph);

// What decides whether two programs are one executable: ops, attributes, types and their wiring, and nothing
// of names and paths.
[[nodiscard]] std::string canonical_text(const Graph& graph);

}  // namespace perfuse::graph
