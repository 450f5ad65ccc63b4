// The noise of a diffusion process at its training timesteps, and the ways to choose a few of them: what
// schedulers of the DDPM family share.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "perfuse/core/json.h"

namespace perfuse {

// Tables are made for every training timestep; this is far above any trained model.
inline constexpr int kMostTrainTimesteps = 100'000;

// num_train_timesteps, 1 … kMostTrainTimesteps.
[[nodiscard]] int read_num_train_timesteps(const ConfigReader& config);

struct NoiseSchedule {
  std::vector<float> betas;
  // Strictly between 0 and 1; with rescale_betas_zero_snr the last is as ZeroSnr says.
  std::vector<float> alphas_cumprod;
};

enum class ZeroSnr {
  unsupported,  // the class has no rescale_betas_zero_snr
  tiny,         // the last alphas_cumprod is 2^-24, so that sigma is finite (4096)
  exact,        // it is 0
};

// From num_train_timesteps, beta_start, beta_end, beta_schedule (linear, scaled_linear, squaredcos_cap_v2 and,
// where the class has it, sigmoid), trained_betas and rescale_betas_zero_snr. Error(model) where a value has no
// meaning.
[[nodiscard]] NoiseSchedule read_noise_schedule(const ConfigReader& config, ZeroSnr zero_snr,
                                                bool has_sigmoid = false);

// sqrt((1 − a) / a), ascending.
[[nodiscard]] std::vector<float> training_sigmas(std::span<const float> alphas_cumprod);
// numpy's logarithm of each.
[[nodiscard]] std::vector<float> log_sigmas(std::span<const float> sigmas);

// The (fractional) training timestep of a sigma, interpolated over the logarithms of the training sigmas.
// In f64, or in f32 as diffusers computes it for sigmas that a caller gave.
[[nodiscard]] double sigma_to_timestep(double sigma, std::span<const float> log_table);
[[nodiscard]] double sigma_to_timestep(float sigma, std::span<const float> log_table);

// What the model predicts.
enum class Prediction { epsilon, sample, v_prediction, flow };
// prediction_type; `allowed` holds diffusers' names.
[[nodiscard]] Prediction read_prediction_type(const ConfigReader& config,
                                              std::initializer_list<std::string_view> allowed);

// How the sigmas between the largest and the smallest are chosen.
enum class SigmaSpacing { timesteps, karras, exponential, beta, lu, flow };
// From use_karras_sigmas, use_exponential_sigmas, use_beta_sigmas and, where the class has them,
// use_lu_lambdas and use_flow_sigmas. Error(model) for combinations that exclude each other.
[[nodiscard]] SigmaSpacing read_sigma_spacing(const ConfigReader& config, bool has_lu_and_flow);
// "use_karras_sigmas", …; nothing for `timesteps`.
[[nodiscard]] std::string_view field_of(SigmaSpacing spacing);

// sigma_min and sigma_max, the ends of the spacings below where they are set, else nothing. Not every class has the fields
// as its own, but each obeys what another class left in the file. Error(model) unless positive and in order.
struct SigmaRange {
  std::optional<double> least, most;
};
[[nodiscard]] SigmaRange read_sigma_range(const ConfigReader& config);

// `steps` sigmas from the largest down. rho = 7.
[[nodiscard]] std::vector<double> karras_sigmas(double sigma_min, double sigma_max, int steps);
// Uniform in log sigma.
[[nodiscard]] std::vector<double> exponential_sigmas(double sigma_min, double sigma_max, int steps);
// Quantiles of the beta distribution with both parameters 0.6.
[[nodiscard]] std::vector<double> beta_sigmas(double sigma_min, double sigma_max, int steps);
// Uniform in lambda between the ends of the table.
[[nodiscard]] std::vector<double> lu_sigmas(std::span<const float> log_table, int steps);
// Flow matching: shift·s / (1 + (shift − 1)·s), s uniform in (0, 1 − 1/num_train_timesteps].
[[nodiscard]] std::vector<double> flow_sigmas(int num_train_timesteps, double shift, int steps);

enum class TimestepSpacing { linspace, leading, trailing };
[[nodiscard]] TimestepSpacing read_timestep_spacing(const ConfigReader& config);
[[nodiscard]] std::string_view to_string(TimestepSpacing spacing);

// last − 1, last − 1 − ratio, … down to 0, rounded; at most `most` of them. (In floating point `last` is not
// always a multiple of the ratio: with 61 steps of 1000 diffusers makes a 62nd, timestep −1. perfuse makes 61.)
[[nodiscard]] std::vector<double> trailing_timesteps(int last, double ratio, int most);

}  // namespace perfuse
