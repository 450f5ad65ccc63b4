#include "apps/cli/generate_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <utility>

#include "apps/cli/option_parser.h"
#include "apps/cli/outputs.h"
#include "apps/cli/text_values.h"
#include "perfuse/core/text.h"
#include "perfuse/schedulers/scheduler.h"
#include "perfuse/schedulers/scheduler_names.h"

namespace perfuse::cli {
namespace {

// An option of Request: diffusers' name for it, and its own.
struct RequestOption {
  const char* field;
  const char* option;
};
constexpr std::array kRequestOptions{RequestOption{"prompt", "PROMPT"},
                                     RequestOption{"negative_prompt", "--negative-prompt"},
                                     RequestOption{"num_inference_steps", "--steps"},
                                     RequestOption{"timesteps", "--timesteps"},
                                     RequestOption{"sigmas", "--sigmas"},
                                     RequestOption{"guidance_scale", "--guidance-scale"},
                                     RequestOption{"num_images_per_prompt", "--num-images"},
                                     RequestOption{"max_sequence_length", "--max-sequence-length"},
                                     RequestOption{"height", "--height"},
                                     RequestOption{"width", "--width"},
                                     RequestOption{"seed", "--seed"},
                                     RequestOption{"scheduler", "--scheduler"}};

std::string scheduler_help() {
  std::string text = "Another scheduler than the model's:";
  for (const auto& [class_name, names] : short_scheduler_names(scheduler_names()))
    text += fmt::format(" {}{}{},", class_name, names.empty() ? "" : " or ", fmt::join(names, " or "));
  return text + " or a name with -karras, -exponential or -beta";
}

void add_picture_options(CLI::App& command, GenerateOptions& options) {
  Request& request = options.request;
  const auto value = [&](const char* names, const char* placeholder, const char* help, auto take) {
    add_value(command, names, placeholder, help, take)->group("Picture");
  };
  value("--prompt-file", "FILE", "Read the prompt from a file (- is standard input)",
        [&](const std::string& text) { options.prompt_file = text; });
  value("--negative-prompt", "TEXT", "What the picture shall not show",
        [&](const std::string& text) { request.negative_prompt = text; });
  value("--seed", "N[,N...]",
        "Seed of the random numbers, or one for each picture; default: a random one, reported",
        [&](const std::string& text) {
          auto seeds = parse_seeds("--seed", text);
          request.seed = seeds.size() == 1 ? OneOrMany<std::uint64_t>(seeds.front())
                                           : OneOrMany<std::uint64_t>(std::move(seeds));
        });
  value("--steps", "N", "Denoising steps; default: the pipeline's",
        [&](const std::string& text) { request.num_inference_steps = parse_int("--steps", text); });
  value("--guidance-scale", "X", "How closely the picture follows the prompt; 1 or less turns guidance off",
        [&](const std::string& text) { request.guidance_scale = parse_number("--guidance-scale", text); });
  value("--height", "PIXELS", "Default: the model's own size",
        [&](const std::string& text) { request.height = parse_integer("--height", text); });
  value("--width", "PIXELS", "Default: the model's own size",
        [&](const std::string& text) { request.width = parse_integer("--width", text); });
  value("--num-images", "N", "Pictures of each prompt",
        [&](const std::string& text) { request.num_images_per_prompt = parse_int("--num-images", text); });
  value("--scheduler", "NAME", scheduler_help().c_str(), [&](const std::string& text) {
    request.scheduler = SchedulerChoice{text, Json::object()};
  });
  value("--timesteps", "T,T...", "Own timesteps instead of a number of steps",
        [&](const std::string& text) { request.timesteps = parse_numbers("--timesteps", text); });
  value("--sigmas", "S,S...", "Own sigmas instead of a number of steps",
        [&](const std::string& text) { request.sigmas = parse_numbers("--sigmas", text); });
  value("--max-sequence-length", "N", "Tokens of the prompt that count", [&](const std::string& text) {
    request.max_sequence_length = parse_int("--max-sequence-length", text);
  });
  command
      .add_flag_callback(
          "--no-resolution-binning", [&] { request.use_resolution_binning = false; },
          "Draw at the size asked for, not at the nearest one the model was trained for")
      ->group("Picture");
}

void add_model_options(CLI::App& command, RunOptions& run) {
  const auto text = [&](const char* names, const char* placeholder, const char* help, auto member) {
    add_value(command, names, placeholder, help, [&run, member](const std::string& t) {
      run.*member = t;
    })->group("Model and device");
  };
  text("-m,--model", "MODEL",
       "Model folder, ORG/NAME[@REVISION] in the local cache of the Hugging Face hub, or a name that comes "
       "with perfuse; "
       "default: $PERFUSE_MODEL, or emoji-pixart",
       &RunOptions::model);
  text("--variant", "NAME", "Weights in files named *.NAME.safetensors (fp16)", &RunOptions::variant);
  text("--device", "KIND[:I]", "Where to compute; perfuse devices lists what there is; default: cpu",
       &RunOptions::device);
  text("--dtype", "TYPE", "Type of the arithmetic: f32, bf16 or f16; default: the device's",
       &RunOptions::dtype);
  text("--granularity", "G", "How much is compiled as one unit: op, block (default) or whole",
       &RunOptions::granularity);
  text("--cfg", "MODE",
       "Guidance as two runs or one batch: automatic (default), sequential, batched, parallel",
       &RunOptions::cfg);
  add_value(command, "--threads", "N", "Threads of the CPU; default: one for each core",
            [&run](const std::string& t) { run.threads = parse_int("--threads", t); })
      ->group("Model and device");
}

void add_output_options(CLI::App& command, GenerateOptions& options) {
  const auto text = [&](const char* names, const char* placeholder, const char* help, std::string& target) {
    add_value(command, names, placeholder, help, [&target](const std::string& t) {
      target = t;
    })->group("Files");
  };
  add_value(command, "-o,--output", "FILE",
            "PNG or JPEG by its suffix; {} or {:03} is the picture's number; - is standard output; in a "
            "folder, and by "
            "default, named after the prompt",
            [&](const std::string& t) { options.request.output = t; })
      ->group("Files");
  add_value(command, "--format", "FORMAT", "png (default) or jpeg, where the name has no suffix",
            [&](const std::string& t) {
              (void)parse_image_format("--format", t);
              options.request.format = t;
            })
      ->group("Files");
  text("--request", "FILE",
       "Call arguments as JSON, or JSON lines for a batch (- is standard input); options win",
       options.request_file);
  text("--like", "PICTURE", "Make a picture again from the settings it holds; options win", options.like);
  text("--dump-tensors", "FILE",
       "Write prompt embeddings, latents of each step and the picture as safetensors", options.dump_tensors);
  command
      .add_option("--tap", options.taps,
                  "Add a module's output to the dump (transformer.transformer_blocks.0); repeatable")
      ->type_name("PATH")
      ->expected(1)
      ->check([](const std::string& path) { return path.empty() ? "expected PATH, found \"\"" : ""; })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Files");

  const auto flag = [&](const char* names, bool& target, const char* help) {
    command.add_flag(names, target, help)->group("Messages");
  };
  flag("--json", options.json,
       "One line of JSON for each call on standard output: settings, times, memory, files");
  flag("--explain", options.explain, "Tell device, types, the kernels chosen and why not others, memory");
  flag("-q,--quiet", options.quiet, "Say nothing but errors");
  flag("-v,--verbose", options.verbose, "Say more");
  command
      .add_flag_callback(
          "--show", [&] { options.show = true; }, "Show the picture in the terminal (default there)")
      ->group("Messages");
  command
      .add_flag_callback(
          "--no-show", [&] { options.show = false; }, "Don't show the picture")
      ->group("Messages");
}

template <class T>
T named(const char* option, const std::string& text, std::optional<T> value, const char* expected) {
  if (!value) fail(ErrorKind::usage, "{}: expected {}, found {}", option, expected, quote(text));
  return *value;
}

bool has_field(const Request& request, std::string_view field) {
  const Json json = to_json(request);
  return json.contains(field);
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  command
      .add_option_function<std::string>(
          "PROMPT", [&](const std::string& text) { options.request.prompt = text; },
          "What the picture shows; - reads it from standard input (as --prompt-file -)")
      ->type_name("");
  add_picture_options(command, options);
  add_model_options(command, options.run);
  add_output_options(command, options);
}

LoadOptions to_load_options(const RunOptions& run) {
  LoadOptions load;
  load.variant = run.variant.value_or("");
  if (run.device) load.device = Device(*run.device);
  if (run.granularity)
    load.granularity = named("--granularity", *run.granularity, graph::parse_granularity(*run.granularity),
                             "op, block or whole");
  if (run.dtype) {
    load.dtype = named("--dtype", *run.dtype, parse_dtype(*run.dtype), "f32, bf16 or f16");
    if (*load.dtype != DType::f32 && *load.dtype != DType::bf16 && *load.dtype != DType::f16)
      fail(ErrorKind::usage, "--dtype: expected f32, bf16 or f16, found {}", quote(*run.dtype));
  }
  return load;
}

CfgMode to_cfg_mode(const RunOptions& run) {
  if (!run.cfg) return CfgMode::automatic;
  return named("--cfg", *run.cfg, parse_cfg_mode(*run.cfg), "automatic, sequential, batched or parallel");
}

std::string with_option_name(const std::string& message, const Request& given) {
  for (const auto& [field, option] : kRequestOptions)
    if (message.starts_with(std::string(field) + ':') && has_field(given, field))
      return option + message.substr(std::string_view(field).size());
  return message;
}

}  // namespace perfuse::cli
