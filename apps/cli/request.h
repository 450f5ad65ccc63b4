// What a picture is asked for with: diffusers' call arguments under their own names, as the command line, a
// request file or the text inside a picture gives them. A field that is not set is left to the next source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/pipelines/arguments.h"

namespace perfuse::cli {

// A tensor in a safetensors file: {"file": "latents.safetensors", "key": "latents"}; the key may be left out where
// the file holds one tensor.
struct TensorReference {
  std::string file, key;
};

struct Request {
  std::optional<OneOrMany<std::string>> prompt, negative_prompt;
  std::optional<int> num_inference_steps;
  std::optional<std::vector<double>> timesteps, sigmas;
  std::optional<double> guidance_scale, eta;
  std::optional<int> num_images_per_prompt, max_sequence_length;
  std::optional<std::int64_t> height, width;
  std::optional<OneOrMany<std::uint64_t>> seed;
  std::optional<SchedulerChoice> scheduler;
  std::optional<bool> clean_caption, use_resolution_binning;
  std::optional<TensorReference> latents, prompt_embeds, prompt_attention_mask;
  std::optional<TensorReference> negative_prompt_embeds, negative_prompt_attention_mask;
  std::optional<std::string> output, format;  // not diffusers': where the pictures go, and as what
};

// Reads an object; null means "not set", as None does. `origin` begins every message. Error(usage) for an unknown
// field (naming near ones) and for a wrong type, Error(unsupported) for a field that diffusers has and perfuse
// does not.
[[nodiscard]] Request read_request(const Json& json, const std::string& origin);

// The fields that are set, so that read_request gives the same again.
[[nodiscard]] Json to_json(const Request& request);

[[nodiscard]] const std::vector<std::string>& request_field_names();

// `over` where it is set, else `base`. What contradicts a field of `over` goes: a number of steps replaces timesteps
// and sigmas, a prompt replaces embeddings, and the other way round.
[[nodiscard]] Request overlay(Request base, const Request& over);

// Error(usage) unless the request can be turned into a call at all: a prompt (or embeddings) there, valid UTF-8,
// of at most kMostInputBytes together.
inline constexpr std::size_t kMostInputBytes = 2u << 20;
void check_request(const Request& request, const std::string& origin);

// Opens the files that tensors are in.
[[nodiscard]] CallArguments to_arguments(const Request& request, const std::string& origin);

// Prompts (or rows of embeddings) times images per prompt; Error(usage) beyond kMostImages.
[[nodiscard]] std::int64_t count_images(const CallArguments& arguments, const std::string& origin);

}  // namespace perfuse::cli
