// What lowered programs look like. That they compute the right thing is shown where a device runs them.
#include "perfuse/hlo/lower.h"

#include <gtest/gtest.h>

#include <set>

#include "perfuse/graph/builder.h"
#include "perfuse/graph/segment.h"
#include "perfuse/hlo/builder.h"
#include "perfuse/hlo/text.h"
#include "tests/reference/op_cases.h"

namespace perfuse::hlo {
namespace {

using graph::Value;

// A graph of one op.
graph::Graph single(const reference::OpCase& test) {
  graph::Graph graph;
  graph.name = "test";
  for (const auto& type : reference::operand_types(test)) {
    graph.types.push_back(type);
    const auto id = static_cast<graph::ValueId>(graph.types.size()) - 1;
    graph.inputs.push_back({fmt::format("x{}", id), id});
  }
  graph.types.push_back(graph::infer(test.op, reference::operand_types(test)));
  const auto result = static_cast<graph::ValueId>(graph.types.size()) - 1;
  graph::Node node{test.op, {}, result, "node", -1};
  for (const auto& port : graph.inputs) node.operands.push_back(port.value);
  graph.nodes.push_back(node);
  graph.outputs.push_back({"y", result});
  return graph;
}

// x · w + x, then silu, under names and paths of the caller's.
graph::Graph small(const std::string& name) {
  graph::Builder b(name, nullptr, DType::f32);
  const auto scope = b.scope(name);
  const Value x = b.input(name + "_x", {DType::f32, {4, 8}});
  const Value w = b.input(name + "_w", {DType::f32, {8, 8}});
  b.output(name + "_y", b.unary(graph::op::UnaryKind::silu, b.add(b.linear(x, w), x)));
  return b.finish();
}

proto::HloModuleProto parse(const Program& program) {
  proto::HloModuleProto module;
  EXPECT_TRUE(module.ParseFromString(program.bytes));
  return module;
}

const proto::HloComputationProto& entry(const proto::HloModuleProto& module) {
  return module.computations(module.computations_size() - 1);
}

TEST(Lower, EqualSegmentsAreEqualBytes) {
  const auto a = graph::cut(small("first"), graph::Granularity::whole);
  const auto b = graph::cut(small("second"), graph::Granularity::whole);
  const auto bytes_a = lower(a[0].program, {}).bytes, bytes_b = lower(b[0].program, {}).bytes;
  EXPECT_EQ(a[0].key, b[0].key);
  EXPECT_EQ(bytes_a, bytes_b);
  EXPECT_EQ(bytes_a.find("first"), std::string::npos);
}

// Ids from one counter without gaps, callees and operands first, names unique, row-major layouts, static shapes, no
// metadata (the message has no such field), no i64 and no f64 (primitive_type refuses them).
TEST(Lower, EveryOpKeepsToTheProfile) {
  std::set<std::size_t> seen;
  for (const auto& test : reference::op_cases()) {
    if (!seen.insert(test.op.index()).second) continue;
    SCOPED_TRACE(test.name);
    const auto module = parse(lower(single(test), {}));
    std::int64_t next = 0, computation_id = 0;
    for (const auto& computation : module.computations()) {
      EXPECT_EQ(computation.id(), computation_id++);
      std::set<std::string> names;
      std::set<std::int64_t> defined;
      for (const auto& i : computation.instructions()) {
        EXPECT_EQ(i.id(), next++);
        EXPECT_TRUE(names.insert(i.name()).second) << i.name();
        for (const auto operand : i.operand_ids()) EXPECT_TRUE(defined.contains(operand));
        for (const auto callee : i.called_computation_ids()) EXPECT_LT(callee, computation.id());
        defined.insert(i.id());
        ASSERT_EQ(i.shape().layout().minor_to_major_size(), i.shape().dimensions_size());
        for (int axis = 0; axis < i.shape().dimensions_size(); ++axis) {
          EXPECT_EQ(i.shape().layout().minor_to_major(axis), i.shape().dimensions_size() - 1 - axis);
          EXPECT_FALSE(i.shape().is_dynamic_dimension(axis));
        }
      }
      EXPECT_EQ(computation.root_id(), next - 1);
    }
    const auto& main = entry(module);
    EXPECT_EQ(main.id(), module.entry_computation_id());
    EXPECT_EQ(main.instructions(main.instructions_size() - 1).opcode(), "copy");
    for (int i = 0; i < main.program_shape().parameter_names_size(); ++i)
      EXPECT_EQ(main.program_shape().parameter_names(i), "input" + std::to_string(i));
  }
  EXPECT_EQ(seen.size(), std::variant_size_v<graph::Op>);
}

TEST(Lower, OutputsAreNeverParameters) {
  graph::Builder b("test", nullptr, DType::f32);
  const Value x = b.input("x", {DType::f32, {2, 3}});
  b.output("same", b.reshape(x, {3, 2}));
  b.output("twice", b.add(x, x));
  graph::Graph graph = b.finish();
  graph.outputs.push_back({"input", graph.inputs[0].value});
  const auto module = parse(lower(graph, {}));
  const auto& main = entry(module);
  const auto& root = main.instructions(main.instructions_size() - 1);
  ASSERT_EQ(root.opcode(), "tuple");
  ASSERT_EQ(root.operand_ids_size(), 3);
  const auto first = main.instructions(0).id();
  for (const auto id : root.operand_ids())
    EXPECT_NE(main.instructions(static_cast<int>(id - first)).opcode(), "parameter");
  EXPECT_EQ(root.frontend_attributes().map().at("neff_output_names"), "output0,output1,output2");
}

TEST(Lower, OffersInputsAsMemoryOfOutputs) {
  const Program program = lower(small("x"), {});
  const auto module = parse(program);
  ASSERT_EQ(module.input_output_alias().entries_size(), 1);
  EXPECT_EQ(module.input_output_alias().entries(0).parameter_number(), 0);
  EXPECT_EQ(program.donated_to, (std::vector<int>{0, -1}));
}

// No value of a long attention holds all scores.
TEST(Lower, AttentionIsChunkedOverQueries) {
  constexpr std::int64_t kLength = 4096, kChunk = 512;
  graph::Builder b("test", nullptr, DType::bf16);
  const auto in = [&](const char* name) { return b.input(name, {DType::bf16, {1, kLength, 2, 8}}); };
  const Value q = in("q"), k = in("k"), v = in("v");
  b.output("y", b.attention(q, k, v, {}, 0.3));
  LoweringOptions options;
  options.attention_query_chunk = kChunk;
  std::int64_t most = 0;
  const auto module = parse(lower(b.finish(), options));
  for (const auto& i : entry(module).instructions()) {
    std::int64_t count = 1;
    for (const auto size : i.shape().dimensions()) count *= size;
    most = std::max(most, count);
  }
  EXPECT_EQ(most, 2 * kChunk * kLength);
}

TEST(Lower, TextNamesOperandsAndAttributes) {
  const std::string text = to_text(lower(small("x"), {}).bytes);
  EXPECT_NE(text.find("HloModule program, input_output_alias={ {}: (0, {}, may-alias) }"), std::string::npos)
      << text;
  EXPECT_NE(text.find("ENTRY main {"), std::string::npos);
  EXPECT_NE(
      text.find("input1 = f32[8,8]{1,0} parameter(1), frontend_attributes={neff_input_names=\"input1\"}"),
      std::string::npos);
  EXPECT_NE(text.find("dot(input0, input1), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
            std::string::npos);
  EXPECT_NE(text.find("ROOT result = f32[4,8]{1,0} copy("), std::string::npos);
}

}  // namespace
}  // namespace perfuse::hlo
