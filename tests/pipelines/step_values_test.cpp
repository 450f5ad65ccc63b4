// What a denoising step uploads: one small table, the same for every scheduler.
#include "perfuse/pipelines/step_values.h"

#include <gtest/gtest.h>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

std::unique_ptr<Scheduler> scheduler(const std::string& class_name, Json overrides = Json::object()) {
  const Json config = {{"_class_name", class_name}, {"num_train_timesteps", 1000}};
  auto made = make_scheduler(ConfigReader(config, "scheduler_config.json"), class_name, overrides);
  made->set_timesteps({10, {}, {}, std::nullopt});
  return made;
}

TEST(StepValues, SaysTimestepScaleGuidanceAndCoefficients) {
  const auto euler = scheduler("EulerDiscreteScheduler");
  const Step step = euler->step(3);
  const Tensor table = step_values(*euler, 3, step, 7.5);
  ASSERT_EQ(table.shape(), (Shape{kStepRows, kStepTerms + 1}));
  const auto values = table.data<float>();
  EXPECT_EQ(values[StepColumns::timestep], static_cast<float>(euler->timesteps()[3]));
  EXPECT_EQ(values[StepColumns::input_scale], static_cast<float>(euler->model_input_scale(3)));
  EXPECT_EQ(values[StepColumns::guidance], 1.0F);
  EXPECT_EQ(values[StepColumns::guidance + 1], 7.5F);
  std::size_t row = 1;
  for (const auto& action : step.actions) {
    const auto& terms = std::get<Combination>(action).terms;
    for (std::size_t i = 0; i < terms.size(); ++i)
      EXPECT_EQ(values[row * (kStepTerms + 1) + i], static_cast<float>(terms[i].coefficient));
    ++row;
  }
  EXPECT_GT(row, 1u);
}

TEST(StepValues, NoiseHasAColumnOfItsOwn) {
  const auto sde = scheduler("DPMSolverMultistepScheduler", {{"algorithm_type", "sde-dpmsolver++"}});
  const Step step = sde->step(2);
  const Tensor table = step_values(*sde, 2, step, 1.0);
  const auto& last = std::get<Combination>(step.actions.back()).terms;
  ASSERT_EQ(last.back().slot.kind, Slot::Kind::noise);
  const std::size_t row = step.actions.size() * (kStepTerms + 1);
  EXPECT_EQ(table.data<float>()[row + kStepTerms], static_cast<float>(last.back().coefficient));
}

TEST(StepValues, EverySchedulerFits) {
  for (const auto& name : scheduler_names()) {
    const auto made = scheduler(name);
    for (int i = 0; i < static_cast<int>(made->timesteps().size()); ++i)
      EXPECT_NO_THROW(static_cast<void>(step_values(*made, i, made->step(i), 1.0))) << name << ' ' << i;
  }
}

TEST(StepValues, RefusesWhatDoesNotFit) {
  const auto euler = scheduler("EulerDiscreteScheduler");
  const Slot sample;
  Step step;
  step.actions.emplace_back(Combination{sample, std::vector<Term>(kStepTerms, Term{sample, 1.0})});
  EXPECT_NO_THROW(static_cast<void>(step_values(*euler, 0, step, 1.0)));
  std::get<Combination>(step.actions[0]).terms.push_back({sample, 1.0});
  EXPECT_THROW(static_cast<void>(step_values(*euler, 0, step, 1.0)), Error);
  step.actions.assign(kStepRows, Combination{sample, {{sample, 1.0}}});
  EXPECT_THROW(static_cast<void>(step_values(*euler, 0, step, 1.0)), Error);
}

}  // namespace
}  // namespace perfuse
