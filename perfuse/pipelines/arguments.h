// What a pipeline is called with, and what it gives back. Field names are those of diffusers' __call__.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "perfuse/core/json.h"
#include "perfuse/image/image.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {

// One value or a list of them, as diffusers takes for prompts and generators.
template <class T> class OneOrMany {
 public:
  OneOrMany() = default;
  OneOrMany(T value) : values_{std::move(value)} {}
  OneOrMany(std::vector<T> values) : values_(std::move(values)), list_(true) {}
  OneOrMany(const char* text) requires std::is_same_v<T, std::string> : values_{text} {}

  [[nodiscard]] const std::vector<T>& values() const { return values_; }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] bool is_list() const { return list_; }

 private:
  std::vector<T> values_;
  bool list_ = false;
};

// How the two predictions of classifier-free guidance are made: one after the other, as one batch, or on two
// groups of the mesh. `automatic`: batched on the CPU, sequential on accelerators.
enum class CfgMode { automatic, sequential, batched, parallel };
[[nodiscard]] std::string_view to_string(CfgMode mode);
[[nodiscard]] std::optional<CfgMode> parse_cfg_mode(std::string_view name);

// Another scheduler for this call: diffusers' CLASS.from_config(pipe.scheduler.config, **config).
struct SchedulerChoice {
  std::string class_name;        // "": the model's own class
  Json config = Json::object();  // fields that replace those of the model's scheduler_config.json
};

struct StepInfo {
  int step;  // 0 … steps − 1
  int steps;
  double timestep;
  std::function<Tensor()>
      latents;  // after the step, [N, C, h, w]; downloads when called, inside the callback alone
};

// Sees named tensors as they come to be (the keys of --dump-tensors).
using TensorSink = std::function<void(const std::string& key, const Tensor& tensor)>;

// Images of one call at most: prompts times num_images_per_prompt.
inline constexpr std::int64_t kMostImages = 1024;

struct CallArguments {
  OneOrMany<std::string> prompt = {};
  std::optional<OneOrMany<std::string>> negative_prompt = {};  // default ""
  std::optional<int> num_inference_steps = {};                 // default: the pipeline's
  std::vector<double> timesteps = {};                          // own schedules instead of a number of steps
  std::vector<double> sigmas = {};
  std::optional<double> guidance_scale = {};  // default: the pipeline's; ≤ 1 turns guidance off
  int num_images_per_prompt = 1;
  std::optional<std::int64_t> height = {}, width = {};  // pixels; default: the model's
  double eta = 0.0;                                     // DDIM's, for schedulers that know it
  OneOrMany<std::uint64_t> seed =
      {};               // default: from the system's entropy; a list is one generator per image
  Tensor latents = {};  // [N, C, h, w] instead of drawn noise
  Tensor prompt_embeds = {}, prompt_attention_mask = {};  // [B, L, D], [B, L] instead of a prompt
  Tensor negative_prompt_embeds = {}, negative_prompt_attention_mask = {};
  std::optional<bool> clean_caption = {};
  bool use_resolution_binning = true;
  std::optional<int> max_sequence_length = {};

  std::optional<SchedulerChoice> scheduler = {};
  CfgMode cfg = CfgMode::automatic;

  // After each step; false stops the run with Error(cancelled).
  std::function<bool(const StepInfo&)> callback_on_step_end = {};
  // Asked between segments of work, at least once a step.
  std::stop_token stop = {};
  // Told what the run is at: "text_encoder", "denoise", "vae", with steps done and to do.
  std::function<void(std::string_view stage, int done, int total)> progress = {};
  TensorSink tensors = {};
  // Module paths under component names ("transformer.transformer_blocks.0.attn1") whose output `tensors` gets at
  // the component's first run.
  std::vector<std::string> taps = {};
};

struct StageTime {
  std::string stage;
  double seconds;
};

struct PipelineOutput {
  std::vector<Image> images;
  Tensor image_tensor;  // [N, H, W, 3] f32 in 0…1, before rounding
  // Everything as it was resolved (prompt, seed, steps, scheduler and its config, size, types, device, …).
  Json settings;
  std::vector<StageTime> times;
  std::vector<std::string> warnings;
  int host_actions = 0;  // parts of scheduler steps that aren't linear and ran on the host
};

}  // namespace perfuse
