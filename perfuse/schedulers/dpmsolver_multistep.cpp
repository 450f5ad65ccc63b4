#include "perfuse/schedulers/dpmsolver_multistep.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "perfuse/core/error.h"
#include "perfuse/schedulers/numerics.h"
#include "perfuse/schedulers/timestep_request.h"

namespace perfuse {
namespace {

constexpr Slot kSample{Slot::Kind::sample, 0};
constexpr Slot kModelOutput{Slot::Kind::model_output, 0};
constexpr Slot kNoise{Slot::Kind::noise, 0};

// Names that other schedulers' configurations bring along, and what they mean here.
Json with_own_names(Json config) {
  const auto replace = [&](const char* key, std::initializer_list<std::string_view> foreign,
                           const char* own) {
    const auto field = config.find(key);
    if (field == config.end() || !field->is_string()) return;
    if (std::ranges::find(foreign, field->get_ref<const std::string&>()) != foreign.end()) *field = own;
  };
  replace("algorithm_type", {"deis"}, "dpmsolver++");
  replace("solver_type", {"logrho", "bh1", "bh2"}, "midpoint");
  return config;
}

// First timestep (plus one, counted from the end of training) whose lambda is at least `least`.
int clipped_last_timestep(const std::vector<float>& alphas_cumprod, double least) {
  int last = static_cast<int>(alphas_cumprod.size());
  const auto lambda = [](float product) {
    return std::log(std::sqrt(product)) - std::log(std::sqrt(1 - product));
  };
  while (last > 0 && lambda(alphas_cumprod[last - 1]) < static_cast<float>(least)) --last;
  return last;
}

}  // namespace

Json DPMSolverMultistepScheduler::defaults() {
  return {{"num_train_timesteps", 1000},
          {"beta_start", 0.0001},
          {"beta_end", 0.02},
          {"beta_schedule", "linear"},
          {"trained_betas", nullptr},
          {"solver_order", 2},
          {"prediction_type", "epsilon"},
          {"thresholding", false},
          {"dynamic_thresholding_ratio", 0.995},
          {"sample_max_value", 1.0},
          {"algorithm_type", "dpmsolver++"},
          {"solver_type", "midpoint"},
          {"lower_order_final", true},
          {"euler_at_final", false},
          {"use_karras_sigmas", false},
          {"use_exponential_sigmas", false},
          {"use_beta_sigmas", false},
          {"use_lu_lambdas", false},
          {"use_flow_sigmas", false},
          {"flow_shift", 1.0},
          {"final_sigmas_type", "zero"},
          {"lambda_min_clipped", -std::numeric_limits<double>::infinity()},
          {"variance_type", nullptr},
          {"timestep_spacing", "linspace"},
          {"steps_offset", 0},
          {"rescale_betas_zero_snr", false},
          {"use_dynamic_shifting", false},
          {"time_shift_type", "exponential"}};
}

DPMSolverMultistepScheduler::DPMSolverMultistepScheduler(const ConfigReader& given)
    : config_(with_own_names(given.json())) {
  const ConfigReader config(config_, given.origin());
  num_train_timesteps_ = read_num_train_timesteps(config);
  const NoiseSchedule noise = read_noise_schedule(config, ZeroSnr::tiny);
  table_ = training_sigmas(noise.alphas_cumprod);
  log_table_ = log_sigmas(table_);

  const std::string algorithm =
      config.choice("algorithm_type", {"dpmsolver++", "sde-dpmsolver++", "dpmsolver", "sde-dpmsolver"});
  predicts_x0_ = algorithm.ends_with("++");
  stochastic_ = algorithm.starts_with("sde-");
  solver_order_ = static_cast<int>(config.integer("solver_order", 1, 3));
  heun_ = config.choice("solver_type", {"midpoint", "heun"}) == "heun";
  if (algorithm == "sde-dpmsolver" && solver_order_ == 3)
    fail(ErrorKind::unsupported,
         "{}: solver_order: sde-dpmsolver has no third order, in diffusers neither; use solver_order 2, or "
         "algorithm_type sde-dpmsolver++",
         config.origin());

  prediction_ = predicts_x0_
                    ? read_prediction_type(config, {"epsilon", "sample", "v_prediction", "flow_prediction"})
                    : read_prediction_type(config, {"epsilon", "sample", "v_prediction"});
  if (config.has("variance_type")) {
    const std::string variance = config.string("variance_type");
    if (variance.starts_with("learned") && prediction_ == Prediction::epsilon)
      fail(ErrorKind::unsupported,
           "{}: variance_type: \"{}\" makes diffusers keep three channels of the model's output, which "
           "latents "
           "don't have; set it to null",
           config.origin(), variance);
  }

  thresholding_ = config.boolean("thresholding");
  threshold_ratio_ = config.number("dynamic_thresholding_ratio");
  if (!(threshold_ratio_ >= 0 && threshold_ratio_ <= 1))
    config.fail_field("dynamic_thresholding_ratio",
                      fmt::format("expected 0 to 1, found {}", threshold_ratio_));
  threshold_max_ = config.number("sample_max_value");
  if (!(threshold_max_ > 0))
    config.fail_field("sample_max_value",
                      fmt::format("expected a positive number, found {}", threshold_max_));

  lower_order_final_ = config.boolean("lower_order_final");
  euler_at_final_ = config.boolean("euler_at_final");
  final_sigma_zero_ = config.choice("final_sigmas_type", {"zero", "sigma_min"}) == "zero";
  if (final_sigma_zero_ && !predicts_x0_)
    config.fail_field("final_sigmas_type",
                      fmt::format("\"zero\" does not work with algorithm_type {}: use sigma_min", algorithm));

  spacing_ = read_sigma_spacing(config, true);
  sigma_range_ = read_sigma_range(config);
  round_timesteps_ = config.string("beta_schedule") != "squaredcos_cap_v2";
  flow_shift_ = config.number("flow_shift");
  if (!(flow_shift_ > 0))
    config.fail_field("flow_shift", fmt::format("expected a positive number, found {}", flow_shift_));
  dynamic_shifting_ = config.boolean("use_dynamic_shifting");
  (void)config.choice("time_shift_type", {"exponential"});

  timestep_spacing_ = read_timestep_spacing(config);
  steps_offset_ = static_cast<int>(config.integer("steps_offset", 0, num_train_timesteps_));
  const double least = config.number("lambda_min_clipped", std::nullopt, true);
  if (std::isnan(least)) config.fail_field("lambda_min_clipped", "expected a number, found NaN");
  last_timestep_ = clipped_last_timestep(noise.alphas_cumprod, least);
  if (last_timestep_ == 0)
    config.fail_field("lambda_min_clipped", fmt::format("{} clips every timestep away", least));
}

std::vector<double> DPMSolverMultistepScheduler::spaced_timesteps(int steps) const {
  std::vector<double> timesteps;
  switch (timestep_spacing_) {
    case TimestepSpacing::linspace:
      timesteps = numerics::linspace(0, last_timestep_ - 1, steps + 1);
      for (double& timestep : timesteps) timestep = std::nearbyint(timestep);
      std::ranges::reverse(timesteps);
      timesteps.pop_back();
      return timesteps;
    case TimestepSpacing::leading: {
      const int ratio = last_timestep_ / (steps + 1);
      for (int i = steps; i > 0; --i) timesteps.push_back(static_cast<double>(i) * ratio + steps_offset_);
      return timesteps;
    }
    case TimestepSpacing::trailing: break;
  }
  return trailing_timesteps(last_timestep_, static_cast<double>(num_train_timesteps_) / steps, steps);
}

void DPMSolverMultistepScheduler::set_timesteps(const TimestepRequest& request) {
  check_request(request, {.class_name = kClassName,
                          .num_train_timesteps = num_train_timesteps_,
                          .takes_timesteps = spacing_ == SigmaSpacing::timesteps,
                          .takes_mu = dynamic_shifting_});
  const int steps = request.num_inference_steps.value_or(0);
  const double shift = request.mu ? std::exp(*request.mu) : flow_shift_;
  const double sigma_min = sigma_range_.least.value_or(static_cast<double>(table_.front()));
  const double sigma_max = sigma_range_.most.value_or(static_cast<double>(table_.back()));

  std::vector<double> timesteps;
  std::vector<double> sigmas;
  switch (spacing_) {
    case SigmaSpacing::karras: sigmas = karras_sigmas(sigma_min, sigma_max, steps); break;
    case SigmaSpacing::lu: sigmas = lu_sigmas(log_table_, steps); break;
    case SigmaSpacing::exponential: sigmas = exponential_sigmas(sigma_min, sigma_max, steps); break;
    case SigmaSpacing::beta: sigmas = beta_sigmas(sigma_min, sigma_max, steps); break;
    case SigmaSpacing::flow: sigmas = flow_sigmas(num_train_timesteps_, shift, steps); break;
    case SigmaSpacing::timesteps:
      timesteps = request.timesteps.empty() ? spaced_timesteps(steps) : request.timesteps;
      for (const double timestep : timesteps) sigmas.push_back(numerics::interp(timestep, table_));
      break;
  }
  if (timesteps.empty()) {
    const bool rounds =
        round_timesteps_ && (spacing_ == SigmaSpacing::karras || spacing_ == SigmaSpacing::lu);
    for (const double sigma : sigmas) {
      const double timestep = spacing_ == SigmaSpacing::flow ? sigma * num_train_timesteps_
                                                             : sigma_to_timestep(sigma, log_table_);
      timesteps.push_back(std::trunc(rounds ? std::nearbyint(timestep) : timestep));
    }
  }

  std::vector<float> levels(sigmas.size());
  std::ranges::transform(sigmas, levels.begin(), [](double sigma) { return static_cast<float>(sigma); });
  for (std::size_t i = 1; i < levels.size(); ++i) {
    if (!(levels[i] < levels[i - 1]))  // a step of length 0 makes the second order divide by it
      fail(ErrorKind::usage,
           "num_inference_steps: {} are too many for {} with timestep_spacing {} over {} timesteps: two "
           "would be the same; use fewer",
           steps, kClassName, to_string(timestep_spacing_), last_timestep_);
  }
  levels.push_back(final_sigma_zero_ ? 0.0F : table_.front());
  timesteps_ = std::move(timesteps);
  sigmas_ = std::move(levels);
  begin_index_ = 0;
}

DPMSolverMultistepScheduler::Level DPMSolverMultistepScheduler::level(int index) const {
  Level level{};
  const float sigma = sigmas_[index];
  if (spacing_ == SigmaSpacing::flow) {
    level.alpha = 1 - sigma;
    level.sigma = sigma;
  } else {
    level.alpha = 1 / std::sqrt(sigma * sigma + 1);
    level.sigma = sigma * level.alpha;
  }
  level.lambda = std::log(level.alpha) - std::log(level.sigma);
  return level;
}

// In f32, as diffusers: with many steps h is small, and its rounding shows in the result.
DPMSolverMultistepScheduler::Update DPMSolverMultistepScheduler::update(const Level& to,
                                                                        const Level& from) const {
  const float h = to.lambda - from.lambda;
  Update u{};
  if (predicts_x0_ && !stochastic_) {
    const float e = std::exp(-h) - 1;
    u.sample = to.sigma / from.sigma;
    u.d0 = -(to.alpha * e);
    u.d1_taylor = to.alpha * (e / h + 1);
    u.d2 = -(to.alpha * ((e + h) / (h * h) - 0.5F));
  } else if (predicts_x0_) {
    const float e = 1 - std::exp(-2 * h);
    u.sample = to.sigma / from.sigma * std::exp(-h);
    u.d0 = to.alpha * e;
    u.d1_taylor = to.alpha * (e / (-2 * h) + 1);
    u.d2 = to.alpha * ((e - 2 * h) / (4 * h * h) - 0.5F);
    u.noise = to.sigma * std::sqrt(e);
  } else {
    const float e = std::exp(h) - 1;
    const float twice = stochastic_ ? 2 : 1;
    u.sample = to.alpha / from.alpha;
    u.d0 = -(twice * (to.sigma * e));
    u.d1_taylor = -(twice * (to.sigma * (e / h - 1)));
    u.d2 = -(to.sigma * ((e - h) / (h * h) - 0.5F));
    if (stochastic_) u.noise = to.sigma * std::sqrt(std::exp(2 * h) - 1);
  }
  u.d1_midpoint = 0.5F * u.d0;
  return u;
}

// converted = x0 or noise, whichever the algorithm integrates, from the sample and the model's output.
void DPMSolverMultistepScheduler::convert_model_output(const Level& at, Slot converted,
                                                       std::vector<Action>& actions) const {
  const auto alpha = static_cast<double>(at.alpha);
  const auto sigma = static_cast<double>(at.sigma);
  const auto set = [&](double sample, double output) {
    Combination combination{converted, {}};
    if (sample != 0) combination.terms.push_back({kSample, sample});
    combination.terms.push_back({kModelOutput, output});
    actions.emplace_back(std::move(combination));
  };
  const auto threshold = [&] {
    actions.emplace_back(DynamicThreshold{converted, threshold_ratio_, threshold_max_});
  };

  if (predicts_x0_) {
    switch (prediction_) {
      case Prediction::epsilon: set(1 / alpha, -sigma / alpha); break;
      case Prediction::sample: set(0, 1); break;
      case Prediction::v_prediction: set(alpha, -sigma); break;
      case Prediction::flow: set(1, -sigma); break;
    }
    if (thresholding_) threshold();
    return;
  }
  switch (prediction_) {
    case Prediction::sample: set(1 / sigma, -alpha / sigma); break;
    case Prediction::v_prediction: set(sigma, alpha); break;
    case Prediction::epsilon:
    case Prediction::flow: set(0, 1); break;
  }
  if (!thresholding_) return;
  actions.emplace_back(Combination{converted, {{kSample, 1 / alpha}, {converted, -sigma / alpha}}});
  threshold();
  actions.emplace_back(Combination{converted, {{kSample, 1 / sigma}, {converted, -alpha / sigma}}});
}

Step DPMSolverMultistepScheduler::step(int index) const {
  const int count = static_cast<int>(timesteps_.size());
  check_step_index(*this, index);
  const bool few = lower_order_final_ && count < 15;
  const bool final_first = index == count - 1 && (euler_at_final_ || few || final_sigma_zero_);
  const bool final_second = index == count - 2 && few;
  // each earlier call since the first left one converted output
  int order = std::min(solver_order_, index - begin_index_ + 1);
  if (final_second) order = std::min(order, 2);
  if (final_first) order = 1;

  const auto output = [&](int back) { return Slot{Slot::Kind::history, (index - back) % solver_order_}; };
  const Level to = level(index + 1);
  const Level from = level(index);
  Step step;
  convert_model_output(from, output(0), step.actions);

  const Update u = update(to, from);
  Combination next{kSample, {{kSample, static_cast<double>(u.sample)}}};
  const auto add = [&](Slot slot, float coefficient) {
    next.terms.push_back({slot, static_cast<double>(coefficient)});
  };
  const float h = to.lambda - from.lambda;
  if (order == 1) {
    add(output(0), u.d0);
  } else if (order == 2) {
    // D1 = (m0 − m1) / r
    const float r = (from.lambda - level(index - 1).lambda) / h;
    const float d1 = (heun_ ? u.d1_taylor : u.d1_midpoint) * (1 / r);
    add(output(0), u.d0 + d1);
    add(output(1), -d1);
  } else {
    // a = (m0 − m1) / r0, b = (m1 − m2) / r1; D1 = a + r0/(r0 + r1)·(a − b), D2 = (a − b) / (r0 + r1)
    const float lambda1 = level(index - 1).lambda;
    const float r0 = (from.lambda - lambda1) / h;
    const float r1 = (lambda1 - level(index - 2).lambda) / h;
    const float difference = (u.d1_taylor * r0 + u.d2) / (r0 + r1);  // coefficient of a − b
    const float a = (u.d1_taylor + difference) * (1 / r0);
    const float b = -difference * (1 / r1);
    add(output(0), u.d0 + a);
    add(output(1), b - a);
    add(output(2), -b);
  }
  if (stochastic_) {
    add(kNoise, u.noise);
    step.noise_draws = 1;
    step.noise_f32 = true;
  }
  step.actions.emplace_back(std::move(next));
  if (predicts_x0_) step.pred_original_sample = output(0);
  return step;
}

}  // namespace perfuse
