#include "perfuse/runtime/module.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <thread>

#include "perfuse/core/error.h"
#include "perfuse/graph/builder.h"
#include "perfuse/runtime/component.h"

namespace perfuse::runtime {
namespace {

using graph::Builder;
using graph::Granularity;
using graph::Value;

// A small network with weights: blocks of a linear layer and a residual, reshapes at their borders, an output
// that is also read later, one that is an input unchanged.
class ModuleTest : public ::testing::TestWithParam<Granularity> {
 protected:
  ModuleTest()
      : folder_(std::filesystem::temp_directory_path() / ("perfuse-module-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    std::vector<float> values(16);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 5) * 0.25f - 0.5f;
    write({{"w", Tensor::from<float>({4, 4}, values)}});
  }
  ~ModuleTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    write_safetensors(folder_ / "model.safetensors", tensors);
    weights_ = std::make_shared<const WeightFiles>(WeightFiles::open(folder_));
    store_ = std::make_shared<ParameterStore>(weights_, context_);
  }
  graph::Graph build() const {
    Builder b("model", weights_.get(), DType::f32);
    const Value input = b.input("x", {DType::f32, {2, 4}});
    const Value weight = b.parameter("w", {4, 4});
    Value x = input;
    for (int i = 0; i < 3; ++i) {
      const auto block = b.block("blocks." + std::to_string(i));
      const Value flat = b.reshape(b.linear(x, weight), {8});
      x = b.module_output(b.add(x, b.reshape(b.unary(graph::op::UnaryKind::silu, flat), {2, 4})));
    }
    b.output("y", x);
    b.output("flat", b.reshape(x, {8}));
    b.output("x_again", input);
    return b.finish();
  }
  std::shared_ptr<const Module> module() const {
    return std::make_shared<const Module>(build(), CompileOptions{GetParam(), false, nullptr}, context_,
                                          store_);
  }
  static Tensor input(float scale) {
    return Tensor::from<float>({2, 4}, {scale, -scale, 2, 0.5f, -1, scale * 3, 0, 1});
  }
  Tensor run(const Module& module, const Tensor& x, const std::string& output) const {
    return context_->download(module.run({{"x", context_->upload(x)}}).at(output));
  }
  // The same in plain loops.
  static std::vector<double> expected(const Tensor& input, const Tensor& weight) {
    const auto in = input.data<float>(), w = weight.data<float>();
    std::vector<double> x(in.begin(), in.end());
    for (int block = 0; block < 3; ++block) {
      auto next = x;
      for (std::size_t row = 0; row < 2; ++row)
        for (std::size_t n = 0; n < 4; ++n) {
          double sum = 0;
          for (std::size_t k = 0; k < 4; ++k) sum += x[row * 4 + k] * static_cast<double>(w[n * 4 + k]);
          next[row * 4 + n] += sum / (1 + std::exp(-sum));
        }
      x = next;
    }
    return x;
  }

  std::filesystem::path folder_;
  std::shared_ptr<DeviceContext> context_ = std::make_shared<DeviceContext>(Device("cpu"));
  std::shared_ptr<const WeightFiles> weights_;
  std::shared_ptr<ParameterStore> store_;
};

TEST_P(ModuleTest, GivesEveryOutput) {
  const auto m = module();
  for (const float scale : {1.0f, -2.5f}) {
    const auto want = expected(input(scale), weights_->tensor("w"));
    for (const auto* name : {"y", "flat"}) {
      const Tensor result = run(*m, input(scale), name);
      const auto got = result.data<float>();
      for (std::size_t i = 0; i < 8; ++i)
        EXPECT_NEAR(static_cast<double>(got[i]), want[i], 1e-5 * (1 + std::abs(want[i])));
    }
    const Tensor again = run(*m, input(scale), "x_again");
    EXPECT_TRUE(std::ranges::equal(again.bytes(), input(scale).bytes()));
  }
}

TEST_P(ModuleTest, OverlappingRunsDoNotDisturbEachOther) {
  const auto m = module();
  const Tensor alone = run(*m, input(1.0f), "y");
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor other = run(*m, input(static_cast<float>(t)), "y");
        if (t == 1 && !std::ranges::equal(other.bytes(), alone.bytes())) ++wrong;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST_P(ModuleTest, PreparesWeightsOnceAndCompilesEqualBlocksOnce) {
  const auto m = module();
  static_cast<void>(run(*m, input(1.0f), "y"));
  const auto first = context_->counters();
  static_cast<void>(run(*m, input(2.0f), "y"));
  const auto second = context_->counters();
  EXPECT_EQ(first.parameters_prepared, second.parameters_prepared);
  EXPECT_EQ(first.executables_compiled, second.executables_compiled);
  EXPECT_EQ(second.uploads, first.uploads + 1);
  if (GetParam() == Granularity::block) {
    EXPECT_EQ(m->plan().segments, 4u);  // three blocks and the reshape after them
    EXPECT_EQ(m->plan().distinct_executables, 2u);
  }
}

TEST_P(ModuleTest, WeightsComeBackAfterRelease) {
  const auto m = module();
  const Tensor before = run(*m, input(1.0f), "y");
  store_->release();
  m->release_workspaces();
  EXPECT_TRUE(std::ranges::equal(run(*m, input(1.0f), "y").bytes(), before.bytes()));
}

TEST_P(ModuleTest, NamesAnInputThatIsMissingOrOfAnotherType) {
  const auto m = module();
  EXPECT_THROW(static_cast<void>(m->run({})), Error);
  try {
    static_cast<void>(m->run({{"x", context_->upload(Tensor::zeros(DType::bf16, {2, 4}))}}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "model: input x is bf16[2, 4], expected f32[2, 4]");
  }
}

TEST_P(ModuleTest, StopsBetweenSegments) {
  std::stop_source stop;
  stop.request_stop();
  try {
    static_cast<void>(module()->run({{"x", context_->upload(input(1.0f))}}, stop.get_token()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
}

TEST_P(ModuleTest, RefusesWeightsThatAreNotNumbers) {
  std::vector<float> values(16, 0.5f);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  write({{"w", Tensor::from<float>({4, 4}, values)}});
  try {
    static_cast<void>(run(*module(), input(1.0f), "y"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model);
    EXPECT_NE(std::string(error.what()).find("w holds NaN"), std::string::npos) << error.what();
  }
}

TEST(ComponentTest, RefusesAMeshOfSeveralDevices) {
  ComponentOptions options;
  options.mesh.tp = 2;
  EXPECT_THROW(Component("x", nullptr, std::make_shared<DeviceContext>(Device("cpu")), options), Error);
}

INSTANTIATE_TEST_SUITE_P(, ModuleTest,
                         ::testing::Values(Granularity::op, Granularity::block, Granularity::whole),
                         [](const auto& tested) { return std::string(graph::to_string(tested.param)); });

}  // namespace
}  // namespace perfuse::runtime
