// Schedulers: host code that says, for each step, which linear combinations of buffers to make.
//
// A scheduler never touches latents. step(i) returns actions on slots; whoever runs them (a pipeline
// on a device, a test on the host) owns the buffers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perfuse/core/json.h"

namespace perfuse {

// A buffer of latents' shape. `history` slots belong to the scheduler (earlier outputs, …) and live
// as long as one call; they hold f32 where the sample does, else the type of the model's output.
struct Slot {
  enum class Kind { sample, model_output, noise, history };
  Kind kind = Kind::sample;
  int index = 0;  // for history: 0 … history_slots()−1; for noise: the draw within this step
  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Term {
  Slot slot;
  double coefficient;
};

// destination = Σ coefficient · slot. The destination may be among the terms.
struct Combination {
  Slot destination;
  std::vector<Term> terms;
};

// The few non-linear parts; run on the host, counted.
// x0 clipped to ±range (`clip_sample`).
struct Clip {
  Slot slot;
  double range;
};
// Imagen's dynamic thresholding, per batch entry: s = quantile(|x|, ratio) clamped to [1, max];
// x = clamp(x, −s, s) / s.
struct DynamicThreshold {
  Slot slot;
  double ratio, max;
};

using Action = std::variant<Combination, Clip, DynamicThreshold>;

// What one call of diffusers' scheduler.step does. Actions run in order; the last writes `sample`.
struct Step {
  std::vector<Action> actions;
  int noise_draws = 0;                            // normal tensors of latents' shape to draw before it runs
  bool noise_f32 = false;                         // drawn as f32 whatever the latents' type (DPMSolver's sde)
  std::optional<Slot> pred_original_sample = {};  // the slot that holds x0 after the actions, if any
};

// What to run: exactly one of a number of steps, explicit timesteps, explicit sigmas.
struct TimestepRequest {
  std::optional<int> num_inference_steps = {};
  std::vector<double> timesteps = {};
  std::vector<double> sigmas = {};
  std::optional<double> mu = {};  // flow matching with dynamic shifting
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // diffusers' class name.
  [[nodiscard]] virtual std::string_view class_name() const = 0;
  // The configuration in force, defaults filled in, as scheduler_config.json would hold it.
  [[nodiscard]] virtual Json config() const = 0;

  // Throws Error(usage) for what can't be run: 0 steps, more than num_train_timesteps, timesteps for a
  // scheduler that takes none, sigmas that are not finite or not descending, …
  virtual void set_timesteps(const TimestepRequest& request) = 0;

  // After set_timesteps; one entry per model call (a second-order scheduler repeats them).
  [[nodiscard]] const std::vector<double>& timesteps() const { return timesteps_; }
  // True where diffusers' timesteps tensor is i64, false where it is f32.
  [[nodiscard]] bool integer_timesteps() const { return integer_timesteps_; }
  // diffusers' `sigmas` tensor (one more than timesteps for most); empty where the class has none.
  [[nodiscard]] const std::vector<float>& sigmas() const { return sigmas_; }
  [[nodiscard]] virtual double init_noise_sigma() const { return 1.0; }
  [[nodiscard]] virtual int history_slots() const = 0;

  // scale_model_input: the sample is multiplied by this before call i of the model.
  [[nodiscard]] virtual double model_input_scale(int index) const;
  // The work after call `index` of the model: a function of the index (and begin index) alone.
  [[nodiscard]] virtual Step step(int index) const = 0;

  // The first index that will run (image-to-image starts late); 0 by default.
  void set_begin_index(int index) { begin_index_ = index; }
  [[nodiscard]] int begin_index() const { return begin_index_; }

 protected:
  std::vector<double> timesteps_;
  std::vector<float> sigmas_;
  bool integer_timesteps_ = true;
  int begin_index_ = 0;
};

// From a scheduler_config.json. The class is `name`, which may be any name that scheduler_by_name takes, or else the file's
// `_class_name`: diffusers' OtherClass.from_config(config), where fields that the other class does not know are carried but
// unused. `overrides` is an object of config fields that replace those of the file and those that the name implies; an
// unknown one is an Error(usage) with near names. A class that perfuse lacks is an Error(usage), or Error(unsupported) where
// it is the file's; both list the known.
[[nodiscard]] std::unique_ptr<Scheduler> make_scheduler(const ConfigReader& config,
                                                        const std::string& name = "",
                                                        const Json& overrides = Json::object());

// Class names that make_scheduler knows, sorted.
[[nodiscard]] std::vector<std::string> scheduler_names();
[[nodiscard]] bool has_scheduler(std::string_view class_name);

// Runs a step's actions on host tensors in f32 (tests, and parts that a device does not do).
// slots: sample, model_output, noise…, history… are found through `at`.
void apply_on_host(const Step& step, const std::function<class Tensor&(Slot)>& at);

}  // namespace perfuse
