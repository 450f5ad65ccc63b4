#include "perfuse/graph/recipe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "perfuse/core/error.h"
#include "perfuse/graph/builder.h"

namespace perfuse::graph {
namespace {

class RecipeTest : public ::testing::Test {
 protected:
  RecipeTest()
      : folder_(std::filesystem::temp_directory_path() / ("perfuse-recipe-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    write_safetensors(folder_ / "model.safetensors",
                      {{"a.weight", Tensor::from<float>({2, 3}, {0, 1, 2, 3, 4, 5})},
                       {"b.weight", Tensor::from<float>({1, 3}, {6, 7, 8})},
                       {"conv.weight", Tensor::from<float>({1, 2, 1, 2}, {0, 1, 2, 3})},
                       {"half.weight", Tensor::from<float>({2}, {1.0f, 2.0f}).to(DType::bf16)},
                       {"ids", Tensor::from<std::int64_t>({2}, {1, 2})}});
    weights_ = std::make_shared<WeightFiles>(WeightFiles::open(folder_));
  }
  ~RecipeTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
  std::shared_ptr<WeightFiles> weights_;
};

std::vector<float> values(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

TEST_F(RecipeTest, OneSourceOfTheSameTypeIsAViewOfTheFile) {
  const Tensor tensor = materialize(stored_as({"a.weight"}, {2, 3}), *weights_, {2, 3}, DType::f32);
  EXPECT_EQ(tensor.bytes().data(), weights_->tensor("a.weight").bytes().data());
}

TEST_F(RecipeTest, SlicesConcatenatesPermutesAndConverts) {
  Recipe recipe;
  recipe.sources = {{{"a.weight"}, {2, 3}, Recipe::Source::Slice{0, 1, 2}},
                    {{"b.weight"}, {1, 3}, std::nullopt}};
  EXPECT_EQ(values(materialize(recipe, *weights_, {2, 3}, DType::f32)),
            (std::vector<float>{3, 4, 5, 6, 7, 8}));
  recipe.permutation = {1, 0};
  EXPECT_EQ(values(materialize(recipe, *weights_, {3, 2}, DType::f32)),
            (std::vector<float>{3, 6, 4, 7, 5, 8}));
  EXPECT_EQ(materialize(recipe, *weights_, {3, 2}, DType::bf16).dtype(), DType::bf16);
}

TEST_F(RecipeTest, ConvolutionsBecomeNhwc) {
  const Recipe recipe = stored_as_oihw({"conv.weight"}, {1, 1, 2, 2});
  EXPECT_EQ(values(materialize(recipe, *weights_, {1, 1, 2, 2}, DType::f32)),
            (std::vector<float>{0, 2, 1, 3}));
}

TEST_F(RecipeTest, TakesTheFirstKeyThatTheFilesHave) {
  std::vector<std::string> problems;
  EXPECT_EQ(check(stored_as({"new.weight", "half.weight"}, {2}), *weights_, problems), DType::bf16);
  EXPECT_TRUE(problems.empty());
}

TEST_F(RecipeTest, TheShapeFollowsFromTheSources) {
  const auto refused = [](const Recipe& recipe, const Shape& wanted) {
    EXPECT_THROW(static_cast<void>(shape_of(recipe, wanted)), Error);
  };
  Recipe recipe;
  recipe.sources = {{{"a"}, {4, 3}, Recipe::Source::Slice{0, 1, 3}}, {{"b"}, {1, 3}, std::nullopt}};
  EXPECT_EQ(shape_of(recipe, {3, 3}), (Shape{3, 3}));
  refused(recipe, {4, 3});
  recipe.concat_axis = 1;
  refused(recipe, {3, 3});  // [2, 3] and [1, 3] side by side
  recipe.concat_axis = 0;
  recipe.sources[1].shape = {2, 3};
  recipe.permutation = {1, 0};
  EXPECT_EQ(shape_of(recipe, {3, 4}), (Shape{3, 4}));
  refused(recipe, {2, 6});
  recipe.reshape = true;
  EXPECT_EQ(shape_of(recipe, {2, 6}), (Shape{2, 6}));
  refused(recipe, {5});
  recipe.sources[0].slice->end = 9;
  refused(recipe, {2, 6});
}

TEST_F(RecipeTest, AParameterHasOneShape) {
  Builder b("model", weights_.get(), DType::f32);
  const Value first = b.parameter("a.weight", {2, 3});
  EXPECT_EQ(b.parameter("a.weight", {2, 3}).id, first.id);
  EXPECT_THROW(static_cast<void>(b.parameter("a.weight", {3, 2})), Error);
}

TEST_F(RecipeTest, BuilderListsEveryWeightThatDoesNotFit) {
  Builder b("model", weights_.get(), DType::f32);
  for (const auto* name : {"a.weight", "missing.weight", "ids"}) b.output(name, b.parameter(name, {2, 2}));
  try {
    static_cast<void>(b.finish());
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.kind(), ErrorKind::model);
    EXPECT_NE(text.find("a.weight has shape [2, 3], expected [2, 2]"), std::string::npos) << text;
    EXPECT_NE(text.find("missing.weight is missing"), std::string::npos) << text;
    EXPECT_NE(text.find("ids is i64"), std::string::npos) << text;
    EXPECT_NE(text.find(folder_.string()), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
}

TEST_F(RecipeTest, ParametersKeepTheFilesTypeUnderF32AloneAndAreSharedByName) {
  for (const auto& [compute, stored] :
       {std::pair{DType::f32, DType::bf16}, std::pair{DType::f16, DType::f16}}) {
    Builder b("model", weights_.get(), compute);
    const Value first = b.parameter("half.weight", {2});
    EXPECT_EQ(b.type(first).dtype, stored);
    EXPECT_EQ(b.parameter("half.weight", {2}).id, first.id);
  }
}

}  // namespace
}  // namespace perfuse::graph
