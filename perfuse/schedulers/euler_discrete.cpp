#include "perfuse/schedulers/euler_discrete.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "perfuse/core/error.h"
#include "perfuse/schedulers/numerics.h"
#include "perfuse/schedulers/timestep_request.h"

namespace perfuse {
namespace {

constexpr Slot kSample{Slot::Kind::sample, 0};
constexpr Slot kModelOutput{Slot::Kind::model_output, 0};
constexpr Slot kNoise{Slot::Kind::noise, 0};
constexpr Slot kOriginal{Slot::Kind::history, 0};
constexpr Slot kDerivative{Slot::Kind::history, 1};

// A step that shrinks sigma by more than this (4096 → 7 with zero terminal SNR) subtracts numbers that nearly
// cancel. What is left is f32 rounding to 1.5e-5, so it is done in diffusers' order; other steps are one
// combination.
constexpr double kLongStep = 64;

}  // namespace

Json EulerDiscreteScheduler::defaults() {
  return {{"num_train_timesteps", 1000},     {"beta_start", 0.0001},        {"beta_end", 0.02},
          {"beta_schedule", "linear"},       {"trained_betas", nullptr},    {"prediction_type", "epsilon"},
          {"interpolation_type", "linear"},  {"use_karras_sigmas", false},  {"use_exponential_sigmas", false},
          {"use_beta_sigmas", false},        {"sigma_min", nullptr},        {"sigma_max", nullptr},
          {"timestep_spacing", "linspace"},  {"timestep_type", "discrete"}, {"steps_offset", 0},
          {"rescale_betas_zero_snr", false}, {"final_sigmas_type", "zero"}};
}

EulerDiscreteScheduler::EulerDiscreteScheduler(const ConfigReader& config) : config_(config.json()) {
  integer_timesteps_ = false;
  num_train_timesteps_ = read_num_train_timesteps(config);
  table_ = training_sigmas(read_noise_schedule(config, ZeroSnr::tiny).alphas_cumprod);
  log_table_ = log_sigmas(table_);
  prediction_ = read_prediction_type(config, {"epsilon", "sample", "v_prediction", "original_sample"});
  spacing_ = read_sigma_spacing(config, false);
  log_linear_ = config.choice("interpolation_type", {"linear", "log_linear"}) == "log_linear";
  sigma_range_ = read_sigma_range(config);
  timestep_spacing_ = read_timestep_spacing(config);
  continuous_ = config.choice("timestep_type", {"discrete", "continuous"}) == "continuous" &&
                prediction_ == Prediction::v_prediction;
  steps_offset_ = static_cast<int>(config.integer("steps_offset", 0, num_train_timesteps_));
  final_sigma_zero_ = config.choice("final_sigmas_type", {"zero", "sigma_min"}) == "zero";
}

void EulerDiscreteScheduler::set_churn(const Churn& churn) {
  const auto check = [](std::string_view name, double value, bool infinite = false) {
    if (!(value >= 0) || (std::isinf(value) && !infinite))
      fail(ErrorKind::usage, "{}: expected a number of at least 0, got {}", name, value);
  };
  check("s_churn", churn.s_churn);
  check("s_tmin", churn.s_tmin);
  check("s_tmax", churn.s_tmax, true);
  check("s_noise", churn.s_noise);
  churn_ = churn;
}

std::vector<double> EulerDiscreteScheduler::spaced_timesteps(int steps) const {
  std::vector<double> timesteps;
  switch (timestep_spacing_) {
    case TimestepSpacing::linspace:
      timesteps = numerics::linspace(0, num_train_timesteps_ - 1, steps);
      for (double& timestep : timesteps) timestep = static_cast<double>(static_cast<float>(timestep));
      std::ranges::reverse(timesteps);
      return timesteps;
    case TimestepSpacing::leading: {
      const int ratio = num_train_timesteps_ / steps;
      for (int i = steps - 1; i >= 0; --i)
        timesteps.push_back(static_cast<double>(i) * ratio + steps_offset_);
      return timesteps;
    }
    case TimestepSpacing::trailing: break;
  }
  return trailing_timesteps(num_train_timesteps_, static_cast<double>(num_train_timesteps_) / steps, steps);
}

void EulerDiscreteScheduler::schedule_from_sigmas(const std::vector<double>& sigmas) {
  sigmas_.clear();
  timesteps_.clear();
  for (const double sigma : sigmas) sigmas_.push_back(static_cast<float>(sigma));
  for (std::size_t i = 0; i + 1 < sigmas_.size(); ++i)
    timesteps_.push_back(sigma_to_timestep(sigmas_[i], log_table_));
}

void EulerDiscreteScheduler::schedule_from_timesteps(std::vector<double> timesteps) {
  const int steps = static_cast<int>(timesteps.size());
  std::vector<double> sigmas;
  if (log_linear_) {
    // one more than there are steps: the last step ends at the smallest sigma, not at the final one
    const std::vector<float> logs = numerics::linspace_f32(
        static_cast<double>(log_table_.back()), static_cast<double>(log_table_.front()), steps + 1);
    for (const float log : logs) sigmas.push_back(static_cast<double>(std::exp(log)));
  } else {
    for (const double timestep : timesteps) sigmas.push_back(numerics::interp(timestep, table_));
  }
  if (spacing_ != SigmaSpacing::timesteps) {
    const double least = sigma_range_.least.value_or(sigmas.back());
    const double most = sigma_range_.most.value_or(sigmas.front());
    switch (spacing_) {
      case SigmaSpacing::exponential: sigmas = exponential_sigmas(least, most, steps); break;
      case SigmaSpacing::beta: sigmas = beta_sigmas(least, most, steps); break;
      default: sigmas = karras_sigmas(least, most, steps); break;
    }
    std::ranges::transform(sigmas, timesteps.begin(),
                           [&](double sigma) { return sigma_to_timestep(sigma, log_table_); });
  }
  sigmas_.clear();
  for (const double sigma : sigmas) sigmas_.push_back(static_cast<float>(sigma));
  sigmas_.push_back(final_sigma_zero_ ? 0.0F : table_.front());
  timesteps_ = std::move(timesteps);
}

void EulerDiscreteScheduler::set_timesteps(const TimestepRequest& request) {
  check_request(request, {.class_name = kClassName,
                          .num_train_timesteps = num_train_timesteps_,
                          .takes_timesteps = spacing_ == SigmaSpacing::timesteps && !continuous_,
                          .integer_timesteps = false,
                          .takes_sigmas = true});
  if (!request.sigmas.empty())
    schedule_from_sigmas(request.sigmas);
  else if (!request.timesteps.empty())
    schedule_from_timesteps(request.timesteps);
  else
    schedule_from_timesteps(spaced_timesteps(*request.num_inference_steps));
  for (std::size_t i = 0; i < timesteps_.size(); ++i) {
    const float timestep = continuous_ ? 0.25F * std::log(sigmas_[i]) : static_cast<float>(timesteps_[i]);
    timesteps_[i] = static_cast<double>(timestep);
  }
  begin_index_ = 0;
}

double EulerDiscreteScheduler::init_noise_sigma() const {
  if (sigmas_.empty()) fail(ErrorKind::usage, "{}: call set_timesteps before init_noise_sigma", kClassName);
  const float most = *std::ranges::max_element(sigmas_);
  const float sigma = timestep_spacing_ == TimestepSpacing::leading ? std::sqrt(most * most + 1) : most;
  return static_cast<double>(sigma);
}

double EulerDiscreteScheduler::model_input_scale(int index) const {
  check_step_index(*this, index);
  const float sigma = sigmas_[index];
  return 1 / static_cast<double>(std::sqrt(sigma * sigma + 1));
}

Step EulerDiscreteScheduler::step(int index) const {
  check_step_index(*this, index);
  const auto sigma = static_cast<double>(sigmas_[index]);
  const bool churns = churn_.s_tmin <= sigma && sigma <= churn_.s_tmax;
  const double gamma =
      churns ? std::min(churn_.s_churn / static_cast<double>(sigmas_.size() - 1), std::numbers::sqrt2 - 1)
             : 0;
  const double sigma_hat = sigma * (gamma + 1);
  const double added = gamma > 0 ? churn_.s_noise * std::sqrt(sigma_hat * sigma_hat - sigma * sigma) : 0;

  // x0 = keep·(sample + added·noise) + out·output
  double keep = 0;
  double out = 1;
  if (prediction_ == Prediction::epsilon) {
    keep = 1;
    out = -sigma_hat;
  } else if (prediction_ == Prediction::v_prediction) {
    keep = 1 / (sigma * sigma + 1);
    out = -sigma / std::sqrt(sigma * sigma + 1);
  }
  const auto combine = [&](Slot destination, double of_sample, double of_output) {
    Combination combination{destination, {{kSample, of_sample}, {kModelOutput, of_output}}};
    if (gamma > 0) combination.terms.push_back({kNoise, of_sample * added});
    return combination;
  };
  Step step;
  step.actions.emplace_back(combine(kOriginal, keep, out));

  // next = x + (x − x0) / sigma_hat · (next_sigma − sigma_hat) with x = sample + added·noise
  const auto next_sigma = static_cast<double>(sigmas_[index + 1]);
  const double dt = next_sigma - sigma_hat;
  if (sigma_hat > kLongStep * next_sigma && next_sigma > 0) {
    step.actions.emplace_back(combine(kDerivative, 1 / sigma_hat, 0));
    std::get<Combination>(step.actions.back()).terms[1] = {kOriginal, -1 / sigma_hat};
    step.actions.emplace_back(combine(kSample, 1, dt));
    std::get<Combination>(step.actions.back()).terms[1] = {kDerivative, dt};
  } else {
    const double slope = dt / sigma_hat;
    step.actions.emplace_back(combine(kSample, 1 + slope - keep * slope, -slope * out));
  }
  step.noise_draws = gamma > 0 ? 1 : 0;
  step.pred_original_sample = kOriginal;
  return step;
}

}  // namespace perfuse
