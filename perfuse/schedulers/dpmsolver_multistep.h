#pragma once

#include "perfuse/schedulers/noise_schedule.h"
#include "perfuse/schedulers/scheduler.h"

namespace perfuse {

// DPM-Solver and DPM-Solver++ (https://arxiv.org/abs/2206.00927, https://arxiv.org/abs/2211.01095), multistep,
// orders 1 to 3, as ODE or SDE.
class DPMSolverMultistepScheduler final : public Scheduler {
 public:
  static constexpr std::string_view kClassName = "DPMSolverMultistepScheduler";
  // Every field the class knows, with its default.
  [[nodiscard]] static Json defaults();

  // `config` holds all fields of defaults(). Error(model) for values that have no meaning, Error(unsupported)
  // for those that diffusers accepts and then can't run.
  explicit DPMSolverMultistepScheduler(const ConfigReader& config);

  [[nodiscard]] std::string_view class_name() const override { return kClassName; }
  [[nodiscard]] Json config() const override { return config_; }
  void set_timesteps(const TimestepRequest& request) override;
  [[nodiscard]] int history_slots() const override { return solver_order_; }
  [[nodiscard]] Step step(int index) const override;

 private:
  // A point of the trajectory: alpha·x0 + sigma·noise; lambda = log(alpha / sigma).
  struct Level {
    float alpha, sigma, lambda;
  };
  // Coefficients of one step before the differences of model outputs are expanded.
  struct Update {
    float sample, noise;
    float d0, d1_midpoint, d1_taylor, d2;
  };
  [[nodiscard]] Level level(int index) const;
  [[nodiscard]] Update update(const Level& to, const Level& from) const;
  [[nodiscard]] std::vector<double> spaced_timesteps(int steps) const;
  void convert_model_output(const Level& at, Slot converted, std::vector<Action>& actions) const;

  Json config_;
  int num_train_timesteps_;
  int solver_order_;
  int steps_offset_;
  int last_timestep_;  // one past the largest timestep with lambda over lambda_min_clipped
  Prediction prediction_;
  SigmaSpacing spacing_;
  SigmaRange sigma_range_;
  TimestepSpacing timestep_spacing_;
  bool predicts_x0_;  // the "++" algorithms integrate x0, the others the noise
  bool stochastic_;   // the "sde-" algorithms
  bool heun_;
  bool lower_order_final_, euler_at_final_, final_sigma_zero_;
  bool thresholding_;
  bool round_timesteps_;
  bool dynamic_shifting_;
  double threshold_ratio_, threshold_max_;
  double flow_shift_;
  std::vector<float> table_;      // sigmas of the training timesteps
  std::vector<float> log_table_;  // their logarithms
};

}  // namespace perfuse
