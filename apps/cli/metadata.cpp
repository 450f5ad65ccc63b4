#include "apps/cli/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/version.h"

namespace perfuse::cli {
namespace {

constexpr int kFormat = 1;
constexpr auto kResolvedFields = {
    "seed",  "num_inference_steps",   "guidance_scale",      "negative_prompt",       "height",
    "width", "num_images_per_prompt", "max_sequence_length", "use_resolution_binning"};

// Entry `index` of a list that is as long as the call has pictures, or of a shorter one whose entries are
// repeated in blocks; the only entry of anything else.
template <class T> const T& entry(const OneOrMany<T>& values, std::int64_t index, std::int64_t each) {
  const auto at = static_cast<std::size_t>(index / std::max<std::int64_t>(each, 1));
  return values.values()[std::min(at, values.values().size() - 1)];
}

std::int64_t images_per_prompt(const Request& request) { return request.num_images_per_prompt.value_or(1); }

// PNG text takes no NUL and only UTF-8.
std::string printable(std::string text) {
  std::replace(text.begin(), text.end(), '\0', ' ');
  return find_invalid_utf8(text) ? quote(text, text.size()) : text;
}

Json without_infinities(const Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    const double value = json.get<double>();
    return std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
  }
  if (!json.is_structured()) return json;
  Json copy = json.is_array() ? Json::array() : Json::object();
  for (const auto& [key, value] : json.items())
    if (json.is_array())
      copy.push_back(without_infinities(value));
    else
      copy[key] = without_infinities(value);
  return copy;
}

std::string parameters_text(const Record& record, const ImageText& text) {
  const auto found = [&](const char* key) -> std::string {
    const auto at = record.settings.find(key);
    if (at == record.settings.end() || at->is_null()) return "";
    if (at->is_object()) return at->value("class", at->value("_class_name", ""));
    return at->is_string() ? at->get<std::string>() : dump_json(*at);
  };
  std::string result = text.at("prompt") + '\n';
  if (text.contains("negative_prompt")) result += "Negative prompt: " + text.at("negative_prompt") + '\n';
  std::string line;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) line += fmt::format("{}{}: {}", line.empty() ? "" : ", ", name, value);
  };
  add("Steps", found("num_inference_steps"));
  add("Sampler", found("scheduler"));
  add("CFG scale", found("guidance_scale"));
  add("Seed", text.contains("seed") ? text.at("seed") : "");
  if (record.request.width && record.request.height)
    add("Size", fmt::format("{}x{}", *record.request.width, *record.request.height));
  add("Model", text.at("model"));
  return result + line;
}

}  // namespace

std::string prompt_of(const Request& request, std::int64_t index) {
  return request.prompt ? entry(*request.prompt, index, images_per_prompt(request)) : "";
}

Request resolved_request(Request request, const Json& settings) {
  Json resolved = Json::object();
  for (const char* name : kResolvedFields)
    if (const auto found = settings.find(name); found != settings.end()) resolved[name] = *found;
  Request chosen = read_request(resolved, "settings");
  if (request.timesteps || request.sigmas) chosen.num_inference_steps.reset();
  if (request.negative_prompt_embeds) chosen.negative_prompt.reset();
  request.output.reset();
  request.format.reset();
  return overlay(std::move(chosen), request);
}

std::string dump_json(const Json& json) {
  return without_infinities(json).dump(-1, ' ', false, Json::error_handler_t::replace);
}

ImageText image_text(const Record& record) {
  const auto& request = record.request;
  ImageText text;
  text["Software"] = fmt::format("perfuse {}", version());
  text["prompt"] = printable(prompt_of(request, record.index));
  if (request.negative_prompt) {
    const auto& negative = entry(*request.negative_prompt, record.index, images_per_prompt(request));
    if (!negative.empty()) text["negative_prompt"] = printable(negative);
  }
  if (request.seed) text["seed"] = std::to_string(entry(*request.seed, record.index, 1));
  text["model"] = printable(record.run.model.value_or(""));
  text["parameters"] = parameters_text(record, text);
  text["perfuse"] = dump_json({{"format", kFormat},
                               {"index", record.index},
                               {"count", record.count},
                               {"request", to_json(request)},
                               {"run", to_json(record.run)},
                               {"settings", record.settings}});
  return text;
}

Record read_record(const std::filesystem::path& picture) {
  const auto text = read_image_text(picture);
  const auto found = text.find("perfuse");
  if (found == text.end())
    fail(ErrorKind::usage,
         "--like {}: the picture holds no settings of perfuse (programs that edit pictures drop them)",
         picture.string());
  const std::string origin = fmt::format("--like {}", picture.string());
  try {
    const ConfigReader reader(parse_json(found->second, origin), origin);
    if (const auto format = reader.integer("format", 1, 1000000); format != kFormat)
      fail(ErrorKind::unsupported, "{}: settings of format {}; this version of perfuse reads format {}",
           origin, format, kFormat);
    Record record;
    record.count = reader.integer("count", 1, kMostImages);
    record.index = reader.integer("index", 0, record.count - 1);
    record.request = read_request(reader.object("request").json(), origin);
    record.run = read_run_options(reader.object("run").json(), origin);
    return record;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::model) throw;
    throw Error(ErrorKind::usage, error.what());
  }
}

}  // namespace perfuse::cli
