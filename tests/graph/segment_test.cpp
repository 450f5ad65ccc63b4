#include <gtest/gtest.h>

#include <set>

#include "perfuse/core/error.h"
#include "perfuse/graph/builder.h"
#include "perfuse/graph/memory_plan.h"
#include "perfuse/graph/segment.h"

namespace perfuse::graph {
namespace {

// begin, three equal blocks, end; all without parameters.
Graph stack_of_blocks() {
  Builder b("model", nullptr, DType::f32);
  Value x = b.affine(b.input("x", {DType::f32, {2, 8}}), 2.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    const auto block = b.block("blocks." + std::to_string(i));
    const Value normed = b.layer_norm(x, 1e-6);
    x = b.module_output(b.add(x, b.unary(op::UnaryKind::silu, normed)));
  }
  b.output("y", b.affine(x, 0.5, 1.0));
  return b.finish();
}

TEST(Cut, MakesOneSegmentForEachNodeBlockOrProgram) {
  const Graph graph = stack_of_blocks();
  EXPECT_EQ(cut(graph, Granularity::op).size(), graph.nodes.size());
  EXPECT_EQ(cut(graph, Granularity::block).size(), 5u);
  EXPECT_EQ(cut(graph, Granularity::whole).size(), 1u);
}

TEST(Cut, EqualBlocksHaveEqualKeys) {
  const auto segments = cut(stack_of_blocks(), Granularity::block);
  std::set<std::string> keys;
  for (const auto& segment : segments) keys.insert(segment.key);
  EXPECT_EQ(keys.size(), 3u);  // begin, block, end
  EXPECT_EQ(segments[1].key, segments[2].key);
  EXPECT_EQ(segments[1].name, "blocks.0");
}

TEST(Cut, HandsEachValueOnToWhoNeedsIt) {
  for (const auto granularity : {Granularity::op, Granularity::block, Granularity::whole}) {
    const Graph graph = stack_of_blocks();
    std::set<ValueId> known{graph.inputs[0].value};
    for (const auto& segment : cut(graph, granularity)) {
      for (const auto input : segment.inputs) EXPECT_TRUE(known.contains(input));
      known.insert(segment.outputs.begin(), segment.outputs.end());
    }
    EXPECT_TRUE(known.contains(graph.outputs[0].value));
  }
}

TEST(Tap, AddsAnOutputOrNamesTheNearOnes) {
  Graph graph = stack_of_blocks();
  tap(graph, "blocks.1");
  EXPECT_EQ(graph.outputs.back().name, "blocks.1");
  try {
    tap(graph, "block.1");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("blocks.1"), std::string::npos) << error.what();
  }
}

TEST(Builder, LeavesOutWhatNoOutputNeeds) {
  Builder b("model", nullptr, DType::f32);
  const Value x = b.input("x", {DType::f32, {2}});
  {
    const auto scope = b.scope("unused");
    b.module_output(b.affine(x, 3.0, 0.0));
  }
  b.output("y", b.affine(x, 2.0, 0.0));
  const Graph graph = b.finish();
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_FALSE(graph.module_outputs.contains("unused"));
}

TEST(CanonicalText, KnowsNothingOfNames) {
  const auto build = [](const std::string& name, double scale) {
    Builder b(name, nullptr, DType::f32);
    const auto scope = b.scope(name + ".path");
    b.output(name, b.affine(b.input(name + "_in", {DType::f32, {2}}), scale, 0.0));
    return canonical_text(b.finish());
  };
  EXPECT_EQ(build("a", 2.0), build("b", 2.0));
  EXPECT_NE(build("a", 2.0), build("a", 3.0));
}

TEST(Printing, NamesPathsInTextAndClustersInDot) {
  const Graph graph = stack_of_blocks();
  EXPECT_NE(to_text(graph).find("-- block blocks.2"), std::string::npos);
  EXPECT_NE(to_dot(graph).find("cluster_2"), std::string::npos);
}

TEST(MemoryPlan, PlacesNothingOnTopOfALivingValue) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 60; ++i)
    lifetimes.push_back({static_cast<std::size_t>(1 + (i * 37) % 500), i % 20, i % 20 + (i * 7) % 9});
  const auto plan = plan_memory(lifetimes);
  for (std::size_t a = 0; a < lifetimes.size(); ++a)
    for (std::size_t b = a + 1; b < lifetimes.size(); ++b) {
      if (lifetimes[a].first > lifetimes[b].last || lifetimes[b].first > lifetimes[a].last) continue;
      const bool apart = plan.offsets[a] + lifetimes[a].bytes <= plan.offsets[b] ||
                         plan.offsets[b] + lifetimes[b].bytes <= plan.offsets[a];
      EXPECT_TRUE(apart) << a << " and " << b;
    }
}

TEST(MemoryPlan, AChainNeedsTwoPlaces) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 50; ++i) lifetimes.push_back({1024, i, i + 1});
  EXPECT_EQ(plan_memory(lifetimes).total, 2048u);
}

}  // namespace
}  // namespace perfuse::graph
