#pragma once

#include <limits>

#include "perfuse/schedulers/noise_schedule.h"
#include "perfuse/schedulers/scheduler.h"

namespace perfuse {

// Algorithm 2 of https://arxiv.org/abs/2206.00364 with Euler steps, over the noise of a DDPM.
class EulerDiscreteScheduler final : public Scheduler {
 public:
  // Arguments of diffusers' step(): noise added before each step. s_churn 0 adds none and draws none.
  struct Churn {
    double s_churn = 0;
    double s_tmin = 0;
    double s_tmax = std::numeric_limits<double>::infinity();
    double s_noise = 1;
  };

  static constexpr std::string_view kClassName = "EulerDiscreteScheduler";
  // Every field the class knows, with its default.
  [[nodiscard]] static Json defaults();

  // `config` holds all fields of defaults(). Error(model) for values that have no meaning.
  explicit EulerDiscreteScheduler(const ConfigReader& config);

  // Error(usage) for negative or not finite values (s_tmax may be infinite).
  void set_churn(const Churn& churn);

  [[nodiscard]] std::string_view class_name() const override { return kClassName; }
  [[nodiscard]] Json config() const override { return config_; }
  void set_timesteps(const TimestepRequest& request) override;
  // sqrt(σ² + 1) for the largest sigma with timestep_spacing "leading", else that sigma.
  [[nodiscard]] double init_noise_sigma() const override;
  [[nodiscard]] int history_slots() const override { return 2; }
  [[nodiscard]] double model_input_scale(int index) const override;
  [[nodiscard]] Step step(int index) const override;

 private:
  [[nodiscard]] std::vector<double> spaced_timesteps(int steps) const;
  void schedule_from_sigmas(const std::vector<double>& sigmas);
  void schedule_from_timesteps(std::vector<double> timesteps);

  Json config_;
  int num_train_timesteps_;
  int steps_offset_;
  Prediction prediction_;
  SigmaSpacing spacing_;
  TimestepSpacing timestep_spacing_;
  bool log_linear_;
  bool continuous_;  // the model takes log σ / 4 for a timestep
  bool final_sigma_zero_;
  SigmaRange sigma_range_;
  std::vector<float> table_;      // sigmas of the training timesteps
  std::vector<float> log_table_;  // their logarithms
  Churn churn_;
};

}  // namespace perfuse
