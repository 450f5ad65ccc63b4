// Graph → HLO: the one lowering behind every XLA device and the Neuron compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perfuse/graph/graph.h"

namespace perfuse::hlo {

// What the target's traits decide. All of it is in the program's bytes, and so in cache keys.
struct LoweringOptions {
  std::int64_t attention_query_chunk = 1024;  // queries whose scores exist at a time
  // f32 products at full precision, by XLA's precision_config; off for a compiler that has no such field.
  bool exact_f32 = true;
};

// A parameter operand: which of the graph's parameters, and how its axes lie (result axis i is the parameter's
// permutation[i]; empty: as they are).
struct ParameterOperand {
  int parameter;
  std::vector<int> permutation;
};

struct Program {
  // Entry operands: the graph's inputs, then `parameters`, named input0, input1, … throughout; results output0, ….
  std::string bytes;  // a serialised HloModuleProto
  std::vector<ParameterOperand> parameters;
  std::vector<graph::ValueType> outputs;
  // By graph input: the output that may take its memory, or −1.
  std::vector<int> donated_to;
};

// Equal segments (graph/segment.h) give equal programs: names and paths are left out. Error(unsupported) names a node
// that has no HLO form.
[[nodiscard]] Program lower(const graph::Graph& graph, const LoweringOptions& options);

}  // namespace perfuse::hlo
