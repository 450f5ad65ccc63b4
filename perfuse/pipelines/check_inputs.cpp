#include "perfuse/pipelines/check_inputs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

constexpr std::size_t kMostPromptBytes = std::size_t{1} << 20;
constexpr int kMostSequence = 4096;

void check_texts(const OneOrMany<std::string>& texts, std::string_view name) {
  for (const auto& text : texts.values()) {
    if (text.size() > kMostPromptBytes)
      fail(ErrorKind::usage, "{}: {} bytes, expected at most {}", name, text.size(), kMostPromptBytes);
    if (const auto position = find_invalid_utf8(text))
      fail(ErrorKind::usage, "{}: not valid UTF-8 at byte {}", name, *position);
  }
}

void check_embeds(const Tensor& embeds, const Tensor& mask, std::string_view name) {
  if (embeds.numel() == 0) return;
  if (embeds.rank() != 3 || !is_floating(embeds.dtype()))
    fail(ErrorKind::usage, "{}: expected floats [batch, length, width], got {} {}", name,
         to_string(embeds.dtype()), to_string(embeds.shape()));
  if (mask.numel() == 0) fail(ErrorKind::usage, "{}: needs its attention mask too", name);
  if (mask.shape() != Shape{embeds.dim(0), embeds.dim(1)})
    fail(ErrorKind::usage, "{}: its attention mask is {}, expected [{}, {}]", name, to_string(mask.shape()),
         embeds.dim(0), embeds.dim(1));
  if (!all_finite(embeds)) fail(ErrorKind::usage, "{}: holds NaN or infinite values", name);
}

}  // namespace

void check_size(PixelSize size, const SizeRules& rules) {
  std::string wrong;
  for (const auto& [name, value] : {std::pair{"height", size.height}, std::pair{"width", size.width}})
    if (value < rules.multiple || value > rules.most || value % rules.multiple != 0)
      wrong += fmt::format("{}{} is {}", wrong.empty() ? "" : ", ", name, value);
  if (!wrong.empty())
    fail(ErrorKind::usage, "{}: expected multiples of {} from {} to {}", wrong, rules.multiple,
         rules.multiple, rules.most);
}

void check_common(const CallArguments& a) {
  if (a.prompt.empty() && a.prompt_embeds.numel() == 0)
    fail(ErrorKind::usage, "prompt: give a prompt or prompt_embeds");
  if (!a.prompt.empty() && a.prompt_embeds.numel() > 0)
    fail(ErrorKind::usage, "prompt and prompt_embeds: give one of the two");
  if (!a.prompt.empty() && a.negative_prompt_embeds.numel() > 0)
    fail(ErrorKind::usage, "prompt and negative_prompt_embeds: embeddings go with prompt_embeds");
  if (a.negative_prompt && a.negative_prompt_embeds.numel() > 0)
    fail(ErrorKind::usage, "negative_prompt and negative_prompt_embeds: give one of the two");
  check_texts(a.prompt, "prompt");
  if (a.negative_prompt) check_texts(*a.negative_prompt, "negative_prompt");
  check_embeds(a.prompt_embeds, a.prompt_attention_mask, "prompt_embeds");
  check_embeds(a.negative_prompt_embeds, a.negative_prompt_attention_mask, "negative_prompt_embeds");
  if (a.negative_prompt_embeds.numel() > 0 && a.negative_prompt_embeds.shape() != a.prompt_embeds.shape())
    fail(ErrorKind::usage, "negative_prompt_embeds: shape {}, prompt_embeds {}; they must agree",
         to_string(a.negative_prompt_embeds.shape()), to_string(a.prompt_embeds.shape()));

  if (a.num_inference_steps && (*a.num_inference_steps < 1 || *a.num_inference_steps > 100000))
    fail(ErrorKind::usage,
         "num_inference_steps: {}, expected 1 or more, up to the scheduler's num_train_timesteps",
         *a.num_inference_steps);
  if (a.guidance_scale && !(std::isfinite(*a.guidance_scale) && std::abs(*a.guidance_scale) <= 1e6))
    fail(ErrorKind::usage, "guidance_scale: {}, expected a finite number of at most 1e6", *a.guidance_scale);
  if (!(a.eta >= 0.0 && a.eta <= 1.0)) fail(ErrorKind::usage, "eta: {}, expected 0 to 1", a.eta);
  if (a.num_images_per_prompt < 1 || a.num_images_per_prompt * prompt_count(a) > kMostImages)
    fail(ErrorKind::usage,
         "num_images_per_prompt: {} for {} prompts, expected at least 1 and at most {} images in all",
         a.num_images_per_prompt, prompt_count(a), kMostImages);
  if (a.max_sequence_length && (*a.max_sequence_length < 2 || *a.max_sequence_length > kMostSequence))
    fail(ErrorKind::usage, "max_sequence_length: {}, expected 2 to {}", *a.max_sequence_length,
         kMostSequence);
}

std::vector<std::string> arguments_without_effect(const CallArguments& a, bool guided) {
  std::vector<std::string> lines;
  const auto check = [&](bool given, std::string_view name, std::string_view why) {
    if (given) lines.push_back(fmt::format("{}: no effect: {}", name, why));
  };
  check(a.eta != 0.0, "eta", "this scheduler's step takes none");
  check(a.num_inference_steps && !a.timesteps.empty(), "num_inference_steps", "timesteps are given");
  check(a.num_inference_steps && !a.sigmas.empty(), "num_inference_steps", "sigmas are given");
  constexpr auto off = "guidance_scale is 1 or less, which turns guidance off";
  const bool negative_text =
      a.negative_prompt && std::any_of(a.negative_prompt->values().begin(), a.negative_prompt->values().end(),
                                       [](const auto& text) { return !text.empty(); });
  check(negative_text && !guided, "negative_prompt", off);
  check(a.negative_prompt_embeds.numel() > 0 && !guided, "negative_prompt_embeds", off);
  check(a.cfg != CfgMode::automatic && !guided, "cfg", off);
  if (a.prompt_embeds.numel() == 0) return lines;
  constexpr auto encoded = "prompt_embeds are given";
  check(a.max_sequence_length.has_value(), "max_sequence_length", encoded);
  const bool encodes_negative = guided && a.negative_prompt_embeds.numel() == 0;
  check(a.clean_caption.has_value() && !encodes_negative, "clean_caption", encoded);
  return lines;
}

std::int64_t prompt_count(const CallArguments& a) {
  return a.prompt.empty() ? a.prompt_embeds.dim(0) : static_cast<std::int64_t>(a.prompt.values().size());
}

std::vector<std::string> negative_prompts(const CallArguments& a, std::int64_t prompts) {
  if (!a.negative_prompt || a.negative_prompt->empty())
    return std::vector<std::string>(static_cast<std::size_t>(prompts));
  const auto& given = a.negative_prompt->values();
  if (!a.negative_prompt->is_list())
    return std::vector<std::string>(static_cast<std::size_t>(prompts), given[0]);
  if (static_cast<std::int64_t>(given.size()) != prompts)
    fail(ErrorKind::usage, "negative_prompt: a list of {} for {} prompt{}; expected as many", given.size(),
         prompts, prompts == 1 ? "" : "s");
  return given;
}

std::vector<Generator> make_generators(const CallArguments& a, std::int64_t images,
                                       std::vector<std::uint64_t>& seeds) {
  seeds = a.seed.values();
  if (seeds.empty()) {
    std::random_device entropy;
    seeds = {entropy()};  // 32 bits, the part of a seed that torch's engine takes
  }
  if (a.seed.is_list() && seeds.size() != 1 && static_cast<std::int64_t>(seeds.size()) != images)
    fail(ErrorKind::usage, "seed: a list of {} for {} image{}; expected one per image", seeds.size(), images,
         images == 1 ? "" : "s");
  return {seeds.begin(), seeds.end()};
}

}  // namespace perfuse
