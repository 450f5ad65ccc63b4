#include "perfuse/schedulers/noise_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cmath>
#include <numbers>
#include <string>

#include "perfuse/schedulers/numerics.h"

namespace perfuse {
namespace {

constexpr float kTinyProduct = 0x1p-24F;  // in place of 0 in alphas_cumprod

std::vector<float> cosine_betas(int count) {
  constexpr double kMaxBeta = 0.999;
  const auto alpha_bar = [](double t) {
    const double c = std::cos((t + 0.008) / 1.008 * std::numbers::pi / 2);
    return c * c;
  };
  std::vector<float> betas;
  betas.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double ratio =
        alpha_bar(static_cast<double>(i + 1) / count) / alpha_bar(static_cast<double>(i) / count);
    betas.push_back(static_cast<float>(std::min(1 - ratio, kMaxBeta)));
  }
  return betas;
}

std::vector<float> scheduled_betas(const std::string& schedule, double start, double end, int count) {
  if (schedule == "squaredcos_cap_v2") return cosine_betas(count);
  if (schedule == "linear") return numerics::linspace_f32(start, end, count);
  if (schedule == "scaled_linear") {
    std::vector<float> betas = numerics::linspace_f32(std::sqrt(start), std::sqrt(end), count);
    for (float& beta : betas) beta *= beta;
    return betas;
  }
  // sigmoid
  std::vector<float> betas = numerics::linspace_f32(-6, 6, count);
  const auto range = static_cast<float>(end - start);
  for (float& beta : betas) beta = 1 / (1 + std::exp(-beta)) * range + static_cast<float>(start);
  return betas;
}

std::vector<float> alphas_of(std::span<const float> betas) {
  std::vector<float> alphas;
  alphas.reserve(betas.size());
  for (const float beta : betas) alphas.push_back(1 - beta);
  return alphas;
}

// Algorithm 1 of https://arxiv.org/abs/2305.08891: sqrt(alphas_cumprod) moved and stretched so that its first
// value stays and its last is 0.
std::vector<float> rescaled_to_zero_snr(std::span<const float> betas) {
  std::vector<float> roots = numerics::cumprod(alphas_of(betas));
  for (float& root : roots) root = std::sqrt(root);
  const float first = roots.front();
  const float last = roots.back();
  const float stretch = first / (first - last);
  for (float& root : roots) root = (root - last) * stretch;
  std::vector<float> rescaled;
  rescaled.reserve(betas.size());
  float before = 1;
  for (const float root : roots) {
    const float product = root * root;
    rescaled.push_back(1 - product / before);
    before = product;
  }
  return rescaled;
}

template <class Real> double timestep_between(Real log_sigma, std::span<const float> table) {
  if (table.size() < 2) return 0;
  // the last entry that is not above it, but never the last of the table
  const auto above = std::upper_bound(table.begin(), table.end(), log_sigma, [](Real value, float entry) {
    return value < static_cast<Real>(entry);
  });
  const auto low = std::clamp<std::ptrdiff_t>(above - table.begin() - 1, 0, std::ssize(table) - 2);
  const float width = table[low] - table[low + 1];
  if (width == 0) return static_cast<double>(low);
  Real weight = (static_cast<Real>(table[low]) - log_sigma) / static_cast<Real>(width);
  weight = std::clamp<Real>(weight, 0, 1);
  return static_cast<double>(1 - weight) * static_cast<double>(low) +
         static_cast<double>(weight) * static_cast<double>(low + 1);
}

constexpr double kLeastSigma = 1e-10;  // the floor under a sigma whose logarithm is taken

}  // namespace

int read_num_train_timesteps(const ConfigReader& config) {
  return static_cast<int>(config.integer("num_train_timesteps", 1, kMostTrainTimesteps));
}

NoiseSchedule read_noise_schedule(const ConfigReader& config, ZeroSnr zero_snr, bool has_sigmoid) {
  const int count = read_num_train_timesteps(config);
  const double start = config.number("beta_start");
  const double end = config.number("beta_end");
  const std::string schedule =
      has_sigmoid
          ? config.choice("beta_schedule", {"linear", "scaled_linear", "squaredcos_cap_v2", "sigmoid"})
          : config.choice("beta_schedule", {"linear", "scaled_linear", "squaredcos_cap_v2"});

  NoiseSchedule noise;
  const bool trained = config.has("trained_betas");
  if (trained) {
    const std::vector<double> betas = config.numbers("trained_betas");
    if (std::ssize(betas) != count)
      config.fail_field("trained_betas", fmt::format("expected {} numbers (num_train_timesteps), found {}",
                                                     count, betas.size()));
    noise.betas.assign(betas.size(), 0);
    std::ranges::transform(betas, noise.betas.begin(), [](double beta) { return static_cast<float>(beta); });
  } else {
    noise.betas = scheduled_betas(schedule, start, end, count);
  }
  const std::string_view field = trained ? "trained_betas" : "beta_start";
  for (int i = 0; i < count; ++i) {
    if (!(noise.betas[i] >= 0 && noise.betas[i] <= 1))
      config.fail_field(field, fmt::format("beta of timestep {} is {}, expected 0 to 1{}", i, noise.betas[i],
                                           trained ? "" : fmt::format(" (beta_end {})", end)));
  }
  const bool rescale = zero_snr != ZeroSnr::unsupported && config.boolean("rescale_betas_zero_snr");
  if (rescale) {
    if (count < 2) config.fail_field("rescale_betas_zero_snr", "needs num_train_timesteps of at least 2");
    noise.betas = rescaled_to_zero_snr(noise.betas);
  }
  noise.alphas_cumprod = numerics::cumprod(alphas_of(noise.betas));
  if (rescale) noise.alphas_cumprod.back() = zero_snr == ZeroSnr::tiny ? kTinyProduct : 0.0F;
  for (int i = 0; i < count; ++i) {
    const float product = noise.alphas_cumprod[i];
    const bool rescaled_last = rescale && i == count - 1;
    if (!(product < 1 && (product > 0 || rescaled_last)))
      config.fail_field(
          field, fmt::format("alphas_cumprod of timestep {} is {}, expected more than 0 and less than 1; "
                             "check the betas and num_train_timesteps {}",
                             i, product, count));
  }
  return noise;
}

std::vector<float> training_sigmas(std::span<const float> alphas_cumprod) {
  std::vector<float> sigmas;
  sigmas.reserve(alphas_cumprod.size());
  for (const float product : alphas_cumprod) sigmas.push_back(std::sqrt((1 - product) / product));
  // √(2^24 − 1) = 4095.999878 lies between two f32; torch's root is the upper one, and the first step of a
  // schedule with zero terminal SNR magnifies the difference.
  if (alphas_cumprod.back() == kTinyProduct) sigmas.back() = 4096;
  return sigmas;
}

std::vector<float> log_sigmas(std::span<const float> sigmas) {
  std::vector<float> logs;
  logs.reserve(sigmas.size());
  for (const float sigma : sigmas) logs.push_back(numerics::log_f32(sigma));
  return logs;
}

double sigma_to_timestep(double sigma, std::span<const float> log_table) {
  return timestep_between(std::log(std::max(sigma, kLeastSigma)), log_table);
}

double sigma_to_timestep(float sigma, std::span<const float> log_table) {
  return timestep_between(numerics::log_f32(std::max(sigma, static_cast<float>(kLeastSigma))), log_table);
}

Prediction read_prediction_type(const ConfigReader& config, std::initializer_list<std::string_view> allowed) {
  const std::string name = config.choice("prediction_type", allowed);
  if (name == "v_prediction") return Prediction::v_prediction;
  if (name == "flow_prediction") return Prediction::flow;
  // "original_sample" is the old name
  return name == "sample" || name == "original_sample" ? Prediction::sample : Prediction::epsilon;
}

std::string_view field_of(SigmaSpacing spacing) {
  switch (spacing) {
    case SigmaSpacing::karras: return "use_karras_sigmas";
    case SigmaSpacing::exponential: return "use_exponential_sigmas";
    case SigmaSpacing::beta: return "use_beta_sigmas";
    case SigmaSpacing::lu: return "use_lu_lambdas";
    case SigmaSpacing::flow: return "use_flow_sigmas";
    case SigmaSpacing::timesteps: break;
  }
  return "";
}

SigmaSpacing read_sigma_spacing(const ConfigReader& config, bool has_lu_and_flow) {
  SigmaSpacing chosen = SigmaSpacing::timesteps;
  const auto exclude = [&](SigmaSpacing spacing) {
    if (!config.boolean(field_of(spacing))) return;
    if (chosen != SigmaSpacing::timesteps)
      config.fail_field(field_of(spacing), fmt::format("excludes {}: set one of them", field_of(chosen)));
    chosen = spacing;
  };
  exclude(SigmaSpacing::karras);
  exclude(SigmaSpacing::exponential);
  exclude(SigmaSpacing::beta);
  if (has_lu_and_flow) {
    // diffusers lets lu yield to karras and go before the others, without a word
    if (config.boolean(field_of(SigmaSpacing::lu)) && chosen != SigmaSpacing::karras)
      chosen = SigmaSpacing::lu;
    exclude(SigmaSpacing::flow);
  }
  return chosen;
}

SigmaRange read_sigma_range(const ConfigReader& config) {
  const auto positive = [&](std::string_view key) -> std::optional<double> {
    if (!config.has(key)) return std::nullopt;
    const double value = config.number(key);
    if (!(value > 0)) config.fail_field(key, fmt::format("expected a positive number, found {}", value));
    return value;
  };
  const SigmaRange range{positive("sigma_min"), positive("sigma_max")};
  if (range.least && range.most && !(*range.least < *range.most))
    config.fail_field("sigma_min", fmt::format("{} is not below sigma_max {}", *range.least, *range.most));
  return range;
}

std::vector<double> karras_sigmas(double sigma_min, double sigma_max, int steps) {
  constexpr double kRho = 7;
  const double low = std::pow(sigma_min, 1 / kRho);
  const double high = std::pow(sigma_max, 1 / kRho);
  std::vector<double> sigmas = numerics::linspace(0, 1, steps);
  for (double& sigma : sigmas) sigma = std::pow(high + sigma * (low - high), kRho);
  return sigmas;
}

std::vector<double> exponential_sigmas(double sigma_min, double sigma_max, int steps) {
  std::vector<double> sigmas = numerics::linspace(std::log(sigma_max), std::log(sigma_min), steps);
  for (double& sigma : sigmas) sigma = std::exp(sigma);
  return sigmas;
}

std::vector<double> beta_sigmas(double sigma_min, double sigma_max, int steps) {
  const boost::math::beta_distribution<double> distribution(0.6, 0.6);
  std::vector<double> sigmas = numerics::linspace(0, 1, steps);
  for (double& sigma : sigmas)
    sigma = sigma_min + boost::math::quantile(distribution, 1 - sigma) * (sigma_max - sigma_min);
  return sigmas;
}

std::vector<double> lu_sigmas(std::span<const float> log_table, int steps) {
  const auto low = static_cast<double>(log_table.front());
  const auto high = static_cast<double>(log_table.back());
  std::vector<double> sigmas = numerics::linspace(0, 1, steps);
  for (double& sigma : sigmas) sigma = std::exp(high + sigma * (low - high));
  return sigmas;
}

std::vector<double> flow_sigmas(int num_train_timesteps, double shift, int steps) {
  std::vector<double> sigmas = numerics::linspace(1, 1.0 / num_train_timesteps, steps + 1);
  for (double& sigma : sigmas) {
    const double s = 1 - sigma;
    sigma = shift * s / (1 + (shift - 1) * s);
  }
  std::ranges::reverse(sigmas);
  sigmas.pop_back();
  return sigmas;
}

TimestepSpacing read_timestep_spacing(const ConfigReader& config) {
  const std::string name = config.choice("timestep_spacing", {"linspace", "leading", "trailing"});
  if (name == "linspace") return TimestepSpacing::linspace;
  return name == "leading" ? TimestepSpacing::leading : TimestepSpacing::trailing;
}

std::string_view to_string(TimestepSpacing spacing) {
  switch (spacing) {
    case TimestepSpacing::linspace: return "linspace";
    case TimestepSpacing::leading: return "leading";
    case TimestepSpacing::trailing: break;
  }
  return "trailing";
}

std::vector<double> trailing_timesteps(int last, double ratio, int most) {
  const int count = std::min(most, static_cast<int>(std::ceil(last / ratio)));
  std::vector<double> timesteps;
  timesteps.reserve(static_cast<std::size_t>(count));
  // numpy.arange: the step is the difference of the first two values
  const double step = (last - ratio) - last;
  for (int i = 0; i < count; ++i) timesteps.push_back(std::nearbyint(last + i * step) - 1);
  return timesteps;
}

}  // namespace perfuse
