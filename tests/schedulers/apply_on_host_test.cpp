#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "perfuse/schedulers/scheduler.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {
namespace {

constexpr Slot kSample{Slot::Kind::sample, 0};
constexpr Slot kOutput{Slot::Kind::model_output, 0};

// One slot's values after one action on them.
std::vector<float> after(const Action& action, Tensor tensor) {
  apply_on_host({.actions = {action}}, [&](Slot) -> Tensor& { return tensor; });
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

TEST(ApplyOnHost, CombinationMayReadItsDestination) {
  Tensor sample = Tensor::from<float>({2}, {1, 2});
  Tensor output = Tensor::from<float>({2}, {10, 20});
  const Step step = {.actions = {Combination{kSample, {{kSample, 2}, {kOutput, -0.5}}}}};
  apply_on_host(step, [&](Slot slot) -> Tensor& { return slot == kSample ? sample : output; });
  EXPECT_EQ(sample.data<float>()[0], -3);
  EXPECT_EQ(sample.data<float>()[1], -6);
}

TEST(ApplyOnHost, KeepsTheTypeOfTheDestination) {
  Tensor sample = Tensor::from<float>({1}, {1.0F}).to(DType::bf16);
  Tensor output = Tensor::from<float>({1}, {0.001F});
  const Step step = {.actions = {Combination{kSample, {{kSample, 1}, {kOutput, 1}}}}};
  apply_on_host(step, [&](Slot slot) -> Tensor& { return slot == kSample ? sample : output; });
  EXPECT_EQ(sample.dtype(), DType::bf16);
  EXPECT_EQ(sample.to(DType::f32).data<float>()[0], 1.0F);
}

TEST(ApplyOnHost, ShapesMustAgree) {
  Tensor sample = Tensor::zeros(DType::f32, {2});
  Tensor output = Tensor::zeros(DType::f32, {3});
  const Step step = {.actions = {Combination{kSample, {{kSample, 1}, {kOutput, 1}}}}};
  EXPECT_THROW(apply_on_host(step, [&](Slot slot) -> Tensor& { return slot == kSample ? sample : output; }),
               Error);
}

TEST(ApplyOnHost, Clip) {
  EXPECT_EQ(after(Clip{kSample, 1.5}, Tensor::from<float>({4}, {-2, -1, 1, 3})),
            (std::vector<float>{-1.5F, -1, 1, 1.5F}));
}

TEST(ApplyOnHost, DynamicThresholdIsPerBatchEntry) {
  // Entry 0: |x| = 0 1 2 3 4, the 0.9 quantile is 3.6. Entry 1 stays under 1, so s is 1.
  const Tensor x = Tensor::from<float>({2, 5}, {0, -1, 2, -3, 4, 0.1F, 0.2F, 0.3F, 0.4F, -0.5F});
  const auto y = after(DynamicThreshold{kSample, 0.9, 10}, x);
  EXPECT_FLOAT_EQ(y[1], -1 / 3.6F);
  EXPECT_FLOAT_EQ(y[4], 1);
  EXPECT_FLOAT_EQ(y[9], -0.5F);
  // s is at most `max`
  EXPECT_FLOAT_EQ(after(DynamicThreshold{kSample, 0.9, 2}, x)[3], -1);
  EXPECT_FLOAT_EQ(after(DynamicThreshold{kSample, 0.9, 2}, x)[1], -0.5F);
}

TEST(ApplyOnHost, DynamicThresholdSpreadsNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto y = after(DynamicThreshold{kSample, 0.5, 1}, Tensor::from<float>({2, 2}, {nan, 1, 0.5F, 0.25F}));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.5F);
}

TEST(ApplyOnHost, DynamicThresholdOfNothing) {
  EXPECT_TRUE(after(DynamicThreshold{kSample, 0.5, 1}, Tensor::zeros(DType::f32, {0, 4})).empty());
  EXPECT_TRUE(after(DynamicThreshold{kSample, 0.5, 1}, Tensor::zeros(DType::f32, {4, 0})).empty());
}

}  // namespace
}  // namespace perfuse
