// What callers and configuration files get wrong: a typed error that names the field and the limit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "perfuse/core/error.h"
#include "perfuse/schedulers/euler_discrete.h"
#include "perfuse/schedulers/scheduler.h"

namespace perfuse {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const char* const kDpm = "DPMSolverMultistepScheduler";
const char* const kEuler = "EulerDiscreteScheduler";

std::unique_ptr<Scheduler> scheduler(const char* name, Json config = Json::object()) {
  config["_class_name"] = name;
  return make_scheduler(ConfigReader(std::move(config), "scheduler_config.json"));
}

// Runs `body`, which must throw an Error of that kind with all of `parts` in its message, on one line.
template <class Body>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, const Body& body) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one about " << (parts.empty() ? "" : parts.front());
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.kind(), kind) << message;
    for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

void expect_bad_request(Scheduler& made, const TimestepRequest& request,
                        const std::vector<std::string>& parts) {
  expect_error(ErrorKind::usage, parts, [&] { made.set_timesteps(request); });
}

void expect_bad_config(const char* name, const Json& config, const std::vector<std::string>& parts,
                       ErrorKind kind = ErrorKind::model) {
  std::vector<std::string> all = parts;
  all.emplace_back("scheduler_config.json");
  expect_error(kind, all, [&] { (void)scheduler(name, config); });
}

TEST(BadSchedulerRequest, Steps) {
  for (const char* name : {kDpm, kEuler}) {
    const auto made = scheduler(name);
    for (const int steps :
         {0, -1, 1001, 100000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
      expect_bad_request(*made, {.num_inference_steps = steps},
                         {"num_inference_steps", "1 to 1000", std::to_string(steps)});
  }
}

TEST(BadSchedulerRequest, NotExactlyOne) {
  for (const char* name : {kDpm, kEuler}) {
    const auto made = scheduler(name);
    expect_bad_request(*made, {}, {"exactly one", "none"});
    expect_bad_request(*made, {.num_inference_steps = 3, .timesteps = {5, 4}},
                       {"exactly one", "more than one"});
    expect_bad_request(*made, {.timesteps = {5, 4}, .sigmas = {2, 1}}, {"exactly one", "more than one"});
  }
}

TEST(BadSchedulerRequest, Timesteps) {
  for (const char* name : {kDpm, kEuler}) {
    const auto made = scheduler(name);
    expect_bad_request(*made, {.timesteps = {100, 500}}, {"timesteps[1]", "descend", "500"});
    expect_bad_request(*made, {.timesteps = {500, 500}}, {"timesteps[1]", "descend"});
    expect_bad_request(*made, {.timesteps = {1000, 500}}, {"timesteps[0]", "0 to 999", "1000"});
    expect_bad_request(*made, {.timesteps = {500, -1}}, {"timesteps[1]", "-1"});
    expect_bad_request(*made, {.timesteps = {500, kNan}}, {"timesteps[1]", "nan"});
    expect_bad_request(*made, {.timesteps = {kInfinity}}, {"timesteps[0]", "inf"});
  }
  expect_bad_request(*scheduler(kDpm), {.timesteps = {500.5}}, {"timesteps[0]", "integers", "500.5"});
  for (const char* field : {"use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas"}) {
    for (const char* name : {kDpm, kEuler})
      expect_bad_request(*scheduler(name, {{field, true}}), {.timesteps = {500, 4}},
                         {"timesteps", "takes none"});
  }
  expect_bad_request(*scheduler(kDpm, {{"use_lu_lambdas", true}}), {.timesteps = {500, 4}}, {"takes none"});
  expect_bad_request(*scheduler(kDpm, {{"use_flow_sigmas", true}, {"prediction_type", "flow_prediction"}}),
                     {.timesteps = {500, 4}}, {"takes none"});
  expect_bad_request(
      *scheduler(kEuler, {{"timestep_type", "continuous"}, {"prediction_type", "v_prediction"}}),
      {.timesteps = {500, 4}}, {"takes none"});
}

TEST(BadSchedulerRequest, Sigmas) {
  expect_bad_request(*scheduler(kDpm), {.sigmas = {2, 1}}, {"sigmas", kDpm, "takes none"});
  const auto made = scheduler(kEuler);
  expect_bad_request(*made, {.sigmas = {2}}, {"sigmas", "2 to 1001"});
  expect_bad_request(*made, {.sigmas = {2, 3}}, {"sigmas[1]", "descend"});
  expect_bad_request(*made, {.sigmas = {2, 2}}, {"sigmas[1]", "descend"});
  expect_bad_request(*made, {.sigmas = {2, kNan}}, {"sigmas[1]", "nan"});
  expect_bad_request(*made, {.sigmas = {2, -1}}, {"sigmas[1]", "-1"});
  expect_bad_request(*made, {.sigmas = {2, 0, 0}}, {"sigmas[1]", "0"});
  expect_bad_request(*made, {.sigmas = {1e300, 1}}, {"sigmas[0]", "finite"});
  expect_bad_request(*made, {.sigmas = std::vector<double>(2000, 1)}, {"sigmas", "2000"});
  made->set_timesteps({.sigmas = {2, 1, 0}});
  EXPECT_EQ(made->timesteps().size(), 2U);
}

TEST(BadSchedulerRequest, Mu) {
  expect_bad_request(*scheduler(kEuler), {.num_inference_steps = 3, .mu = 1}, {"mu", "dynamic"});
  expect_bad_request(*scheduler(kDpm), {.num_inference_steps = 3, .mu = 1}, {"mu", "dynamic"});
  const auto shifting = scheduler(
      kDpm,
      {{"use_flow_sigmas", true}, {"prediction_type", "flow_prediction"}, {"use_dynamic_shifting", true}});
  expect_bad_request(*shifting, {.num_inference_steps = 3, .mu = kNan}, {"mu", "nan"});
  shifting->set_timesteps({.num_inference_steps = 4, .mu = std::log(3.0)});
  const auto fixed =
      scheduler(kDpm, {{"use_flow_sigmas", true}, {"prediction_type", "flow_prediction"}, {"flow_shift", 3}});
  fixed->set_timesteps({.num_inference_steps = 4});
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(shifting->sigmas()[i], fixed->sigmas()[i], 1e-6);
}

TEST(BadSchedulerRequest, StepsThatCoincide) {
  // leading: 1000 // 1001 = 0, every timestep would be the same
  expect_bad_request(*scheduler(kDpm, {{"timestep_spacing", "leading"}}), {.num_inference_steps = 1000},
                     {"num_inference_steps", "1000", "leading", "fewer"});
  expect_bad_request(*scheduler(kDpm, {{"beta_schedule", "squaredcos_cap_v2"}, {"lambda_min_clipped", 0}}),
                     {.num_inference_steps = 900}, {"num_inference_steps", "900", "linspace"});
}

TEST(BadSchedulerRequest, StepIndex) {
  for (const char* name : {kDpm, kEuler}) {
    const auto made = scheduler(name);
    expect_error(ErrorKind::usage, {"set_timesteps"}, [&] { (void)made->step(0); });
    made->set_timesteps({.num_inference_steps = 5});
    expect_error(ErrorKind::usage, {"step 5", "0 to 4"}, [&] { (void)made->step(5); });
    expect_error(ErrorKind::usage, {"step -1"}, [&] { (void)made->step(-1); });
    made->set_begin_index(2);
    expect_error(ErrorKind::usage, {"step 1", "2 to 4"}, [&] { (void)made->step(1); });
  }
  expect_error(ErrorKind::usage, {"set_timesteps"}, [&] { (void)scheduler(kEuler)->init_noise_sigma(); });
}

TEST(BadSchedulerRequest, Churn) {
  const auto made = scheduler(kEuler);
  auto& euler = dynamic_cast<EulerDiscreteScheduler&>(*made);
  expect_error(ErrorKind::usage, {"s_churn", "-1"}, [&] { euler.set_churn({.s_churn = -1}); });
  expect_error(ErrorKind::usage, {"s_noise", "nan"}, [&] { euler.set_churn({.s_noise = kNan}); });
  expect_error(ErrorKind::usage, {"s_churn", "inf"}, [&] { euler.set_churn({.s_churn = kInfinity}); });
}

TEST(BadSchedulerConfig, Values) {
  for (const char* name : {kDpm, kEuler}) {
    for (const Json& count : {Json(0), Json(-5), Json(1'000'000'000'000), Json("1000"), Json(1000.5)})
      expect_bad_config(name, {{"num_train_timesteps", count}}, {"num_train_timesteps"});
    expect_bad_config(name, {{"beta_start", kNan}}, {"beta_start"});
    expect_bad_config(name, {{"beta_start", -0.1}}, {"beta_start", "-0.1"});
    expect_bad_config(name, {{"beta_start", -0.1}, {"beta_schedule", "scaled_linear"}}, {"beta_start"});
    expect_bad_config(name, {{"beta_end", 1e300}}, {"beta"});
    expect_bad_config(name, {{"beta_start", 0}, {"beta_end", 0}}, {"beta_start", "alphas_cumprod"});
    expect_bad_config(name, {{"num_train_timesteps", 100'000}}, {"alphas_cumprod", "100000"});
    expect_bad_config(name, {{"beta_schedule", "quadratic"}},
                      {"beta_schedule", "quadratic", "scaled_linear"});
    expect_bad_config(name, {{"beta_schedule", 3}}, {"beta_schedule"});
    expect_bad_config(name, {{"trained_betas", {0.1, 0.2}}}, {"trained_betas", "1000", "2"});
    expect_bad_config(name, {{"num_train_timesteps", 2}, {"trained_betas", {0.1, 1.2}}},
                      {"trained_betas", "1.2"});
    expect_bad_config(name, {{"trained_betas", "none"}}, {"trained_betas"});
    expect_bad_config(name, {{"prediction_type", "velocity"}}, {"prediction_type", "velocity"});
    expect_bad_config(name, {{"timestep_spacing", "even"}}, {"timestep_spacing", "trailing"});
    expect_bad_config(name, {{"steps_offset", -1}}, {"steps_offset"});
    expect_bad_config(name, {{"final_sigmas_type", "one"}}, {"final_sigmas_type"});
    expect_bad_config(name, {{"use_karras_sigmas", 1}}, {"use_karras_sigmas"});
    expect_bad_config(name, {{"use_karras_sigmas", true}, {"use_beta_sigmas", true}},
                      {"use_beta_sigmas", "use_karras_sigmas"});
    expect_bad_config(name, {{"num_train_timesteps", 1}, {"rescale_betas_zero_snr", true}},
                      {"rescale_betas_zero_snr"});
  }
}

TEST(BadSchedulerConfig, DpmSolver) {
  expect_bad_config(kDpm, {{"solver_order", 7}}, {"solver_order", "7"});
  expect_bad_config(kDpm, {{"solver_order", "2"}}, {"solver_order"});
  expect_bad_config(kDpm, {{"solver_type", "rk4"}}, {"solver_type", "rk4"});
  expect_bad_config(kDpm, {{"algorithm_type", "dpm"}}, {"algorithm_type", "sde-dpmsolver++"});
  expect_bad_config(kDpm, {{"algorithm_type", "dpmsolver"}}, {"final_sigmas_type", "dpmsolver", "sigma_min"});
  expect_bad_config(kDpm, {{"algorithm_type", "dpmsolver"}, {"prediction_type", "flow_prediction"}},
                    {"prediction_type", "flow_prediction"});
  expect_bad_config(kDpm, {{"dynamic_thresholding_ratio", 2}}, {"dynamic_thresholding_ratio"});
  expect_bad_config(kDpm, {{"sample_max_value", 0}}, {"sample_max_value"});
  expect_bad_config(kDpm, {{"flow_shift", 0}}, {"flow_shift"});
  expect_bad_config(kDpm, {{"use_flow_sigmas", true}, {"use_karras_sigmas", true}}, {"use_flow_sigmas"});
  expect_bad_config(kDpm, {{"lambda_min_clipped", kNan}}, {"lambda_min_clipped"});
  expect_bad_config(kDpm, {{"lambda_min_clipped", 100}}, {"lambda_min_clipped", "100"});
  expect_bad_config(kDpm, {{"time_shift_type", "linear"}}, {"time_shift_type"});
}

// What diffusers accepts and then fails on.
TEST(BadSchedulerConfig, WhatDiffusersCannotRun) {
  expect_bad_config(
      kDpm, {{"algorithm_type", "sde-dpmsolver"}, {"solver_order", 3}, {"final_sigmas_type", "sigma_min"}},
      {"solver_order", "sde-dpmsolver"}, ErrorKind::unsupported);
  expect_bad_config(kDpm, {{"variance_type", "learned_range"}}, {"variance_type", "learned_range"},
                    ErrorKind::unsupported);
  (void)scheduler(kDpm, {{"variance_type", "fixed_small"}});  // DDPM's, without meaning here
}

TEST(BadSchedulerConfig, Euler) {
  expect_bad_config(kEuler, {{"interpolation_type", "cubic"}}, {"interpolation_type", "log_linear"});
  expect_bad_config(kEuler, {{"timestep_type", 1}}, {"timestep_type"});
  expect_bad_config(kEuler, {{"sigma_min", -1}}, {"sigma_min", "-1"});
  expect_bad_config(kEuler, {{"sigma_max", kInfinity}}, {"sigma_max"});
  expect_bad_config(kEuler, {{"sigma_min", 2}, {"sigma_max", 1}}, {"sigma_min", "sigma_max"});
  expect_bad_config(kEuler, {{"prediction_type", "flow_prediction"}}, {"prediction_type", "flow_prediction"});
}

}  // namespace
}  // namespace perfuse
