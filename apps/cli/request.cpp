#include "apps/cli/request.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "apps/cli/request_values.h"
#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tensor/safetensors.h"

namespace perfuse::cli {
namespace {

struct Field {
  std::string_view name;
  void (*read)(Request& request, const Json& json, const Place& place);
  std::optional<Json> (*write)(const Request& request);
  void (*overlay)(Request& base, const Request& over);
};

template <auto Member> constexpr Field field(std::string_view name) {
  return {name,
          [](Request& request, const Json& json, const Place& place) {
            typename std::remove_reference_t<decltype(request.*Member)>::value_type value{};
            read_value(json, place, value);
            request.*Member = std::move(value);
          },
          [](const Request& request) {
            return request.*Member ? std::optional<Json>(write_value(*(request.*Member))) : std::nullopt;
          },
          [](Request& base, const Request& over) {
            if (over.*Member) base.*Member = over.*Member;
          }};
}

constexpr std::array kFields{
    field<&Request::prompt>("prompt"),
    field<&Request::negative_prompt>("negative_prompt"),
    field<&Request::num_inference_steps>("num_inference_steps"),
    field<&Request::timesteps>("timesteps"),
    field<&Request::sigmas>("sigmas"),
    field<&Request::guidance_scale>("guidance_scale"),
    field<&Request::eta>("eta"),
    field<&Request::num_images_per_prompt>("num_images_per_prompt"),
    field<&Request::height>("height"),
    field<&Request::width>("width"),
    field<&Request::seed>("seed"),
    field<&Request::scheduler>("scheduler"),
    field<&Request::clean_caption>("clean_caption"),
    field<&Request::use_resolution_binning>("use_resolution_binning"),
    field<&Request::max_sequence_length>("max_sequence_length"),
    field<&Request::latents>("latents"),
    field<&Request::prompt_embeds>("prompt_embeds"),
    field<&Request::prompt_attention_mask>("prompt_attention_mask"),
    field<&Request::negative_prompt_embeds>("negative_prompt_embeds"),
    field<&Request::negative_prompt_attention_mask>("negative_prompt_attention_mask"),
    field<&Request::output>("output"),
    field<&Request::format>("format"),
};

// Arguments of diffusers' pipelines that a request can't have, and what to do instead.
constexpr std::array<std::array<std::string_view, 2>, 12> kRefused{{
    {"image", "the text-to-image pipelines of this version take no input image"},
    {"mask_image", "the text-to-image pipelines of this version take no input image"},
    {"strength", "the text-to-image pipelines of this version take no input image"},
    {"generator", "give \"seed\", a number or a list of one for each image"},
    {"output_type", "pictures are written to \"output\"; tensors come with --dump-tensors"},
    {"return_dict", "a program gets its result with --json"},
    {"callback", "callbacks are for programs: see perfuse/pipelines/arguments.h"},
    {"callback_steps", "callbacks are for programs: see perfuse/pipelines/arguments.h"},
    {"callback_on_step_end", "callbacks are for programs: see perfuse/pipelines/arguments.h"},
    {"cross_attention_kwargs", "attention processors can't be exchanged"},
    {"guidance_rescale", "guidance is not rescaled in this version"},
    {"ip_adapter_image", "IP adapters are not in this version"},
}};

std::size_t prompt_bytes(const std::optional<OneOrMany<std::string>>& prompts, std::string_view name,
                         const std::string& origin) {
  std::size_t bytes = 0;
  if (!prompts) return bytes;
  for (const auto& text : prompts->values()) {
    if (const auto at = find_invalid_utf8(text))
      fail(ErrorKind::usage, "{}: {}: not valid UTF-8 at byte {} of {}", origin, name, *at, quote(text));
    bytes += text.size();
  }
  return bytes;
}

Tensor load(const std::optional<TensorReference>& reference, std::string_view name,
            const std::string& origin) {
  if (!reference) return {};
  const auto file = SafetensorsFile::open(reference->file);
  if (!reference->key.empty()) return file.tensor(reference->key);
  if (file.names().size() != 1)
    fail(ErrorKind::usage, "{}: {}: {} holds {} tensors; say which with \"key\"", origin, name,
         reference->file, file.names().size());
  return file.tensor(file.names().front());
}

template <class T> void set(T& target, const std::optional<T>& value) {
  if (value) target = *value;
}

}  // namespace

const std::vector<std::string>& request_field_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    result.reserve(kFields.size());
    for (const auto& field : kFields) result.emplace_back(field.name);
    return result;
  }();
  return names;
}

Request read_request(const Json& json, const std::string& origin) {
  if (!json.is_object())
    fail(ErrorKind::usage, "{}: expected an object of call arguments, found {}", origin, brief(json));
  Request request;
  for (const auto& item : json.items()) {
    const std::string& name = item.key();
    const Json& value = item.value();
    const auto known =
        std::find_if(kFields.begin(), kFields.end(), [&](const Field& f) { return f.name == name; });
    const auto refused =
        std::find_if(kRefused.begin(), kRefused.end(), [&](const auto& r) { return r[0] == name; });
    if (known == kFields.end() && refused == kRefused.end())
      fail(ErrorKind::usage, "{}: {}", origin, unknown_name("field", name, request_field_names()));
    if (value.is_null()) continue;
    if (refused != kRefused.end()) fail(ErrorKind::unsupported, "{}: {}: {}", origin, name, (*refused)[1]);
    known->read(request, value, Place{origin, name});
  }
  return request;
}

Json to_json(const Request& request) {
  Json json = Json::object();
  for (const auto& field : kFields)
    if (auto value = field.write(request)) json[std::string(field.name)] = std::move(*value);
  return json;
}

Request overlay(Request base, const Request& over) {
  if (over.num_inference_steps || over.timesteps || over.sigmas)
    base.num_inference_steps.reset(), base.timesteps.reset(), base.sigmas.reset();
  if (over.prompt) base.prompt_embeds.reset(), base.prompt_attention_mask.reset();
  if (over.prompt_embeds) base.prompt.reset();
  if (over.negative_prompt) base.negative_prompt_embeds.reset(), base.negative_prompt_attention_mask.reset();
  if (over.negative_prompt_embeds) base.negative_prompt.reset();
  if (over.output) base.format.reset();  // it was the other name's
  for (const auto& field : kFields) field.overlay(base, over);
  return base;
}

void check_request(const Request& request, const std::string& origin) {
  if (!request.prompt && !request.prompt_embeds)
    fail(ErrorKind::usage,
         "{}: no prompt: say what the picture shows, as in perfuse generate \"a red apple\"", origin);
  const auto bytes = prompt_bytes(request.prompt, "prompt", origin) +
                     prompt_bytes(request.negative_prompt, "negative_prompt", origin);
  if (bytes > kMostInputBytes)
    fail(ErrorKind::usage, "{}: prompt: {} of text, at most {} are taken", origin, format_bytes(bytes),
         format_bytes(kMostInputBytes));
}

CallArguments to_arguments(const Request& request, const std::string& origin) {
  CallArguments arguments;
  set(arguments.prompt, request.prompt);
  arguments.negative_prompt = request.negative_prompt;
  arguments.num_inference_steps = request.num_inference_steps;
  set(arguments.timesteps, request.timesteps);
  set(arguments.sigmas, request.sigmas);
  arguments.guidance_scale = request.guidance_scale;
  set(arguments.eta, request.eta);
  set(arguments.num_images_per_prompt, request.num_images_per_prompt);
  arguments.height = request.height;
  arguments.width = request.width;
  set(arguments.seed, request.seed);
  arguments.scheduler = request.scheduler;
  arguments.clean_caption = request.clean_caption;
  set(arguments.use_resolution_binning, request.use_resolution_binning);
  arguments.max_sequence_length = request.max_sequence_length;
  arguments.latents = load(request.latents, "latents", origin);
  arguments.prompt_embeds = load(request.prompt_embeds, "prompt_embeds", origin);
  arguments.prompt_attention_mask = load(request.prompt_attention_mask, "prompt_attention_mask", origin);
  arguments.negative_prompt_embeds = load(request.negative_prompt_embeds, "negative_prompt_embeds", origin);
  arguments.negative_prompt_attention_mask =
      load(request.negative_prompt_attention_mask, "negative_prompt_attention_mask", origin);
  return arguments;
}

std::int64_t count_images(const CallArguments& arguments, const std::string& origin) {
  const bool embedded = arguments.prompt.empty() && arguments.prompt_embeds.rank() > 0;
  const std::int64_t prompts =
      embedded ? arguments.prompt_embeds.dim(0) : static_cast<std::int64_t>(arguments.prompt.values().size());
  const std::int64_t each = arguments.num_images_per_prompt;
  if (each < 1 || prompts < 1 || each > kMostImages / prompts)
    fail(ErrorKind::usage, "{}: num_images_per_prompt: {} for {} prompt{}: expected 1 to {} images in all",
         origin, each, prompts, prompts == 1 ? "" : "s", kMostImages);
  return prompts * each;
}

}  // namespace perfuse::cli
