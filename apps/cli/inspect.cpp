// perfuse inspect: what a model folder holds, what a run needs, and the graph of a component.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/generate_options.h"
#include "apps/cli/metadata.h"
#include "apps/cli/model_folder.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"
#include "apps/cli/text_values.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  perfuse inspect models/emoji-pixart
  perfuse inspect models/emoji-pixart --height 256 --width 256
  perfuse inspect --graph transformer | less
  perfuse inspect --graph vae --format dot | dot -Tsvg > vae.svg)";

struct InspectOptions {
  RunOptions run;
  Request request;
  std::string component;
  std::optional<std::string> format;
  bool json = false;
};

std::string format_count(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", value / 1e6);
  if (count >= 1'000) return fmt::format("{:.1f} k", value / 1e3);
  return fmt::format("{}", count);
}

// Left-aligned columns, as wide as their longest entry.
std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string size_text(const Request& request) {
  if (!request.height && !request.width) return "the model's own size";
  const auto side = [](const auto& value) { return value ? std::to_string(*value) : std::string("default"); };
  return fmt::format("{} high, {} wide", side(request.height), side(request.width));
}

std::string as_text(const DiffusionPipeline& pipeline, const Request& request, std::uint64_t memory) {
  std::vector<std::vector<std::string>> rows{{"component", "class", "parameters", "size", "types"}};
  ComponentInfo total{"total", "", 0, 0, {}};
  for (const auto& c : pipeline.components()) {
    rows.push_back({c.name, c.class_name, c.parameters > 0 ? format_count(c.parameters) : "",
                    c.bytes > 0 ? format_bytes(c.bytes) : "", fmt::format("{}", fmt::join(c.types, ", "))});
    total.parameters += c.parameters;
    total.bytes += c.bytes;
  }
  rows.push_back({total.name, "", format_count(total.parameters), format_bytes(total.bytes), ""});
  return fmt::format("{} in {}\n\n{}\nmemory needed at {}: {} on {} in {}\n", pipeline.class_name(),
                     pipeline.folder().string(), format_table(rows), size_text(request), format_bytes(memory),
                     to_string(pipeline.device()), to_string(pipeline.dtype()));
}

Json as_json(const DiffusionPipeline& pipeline, std::uint64_t memory) {
  Json components = Json::array();
  for (const auto& c : pipeline.components())
    components.push_back({{"name", c.name},
                          {"class", c.class_name},
                          {"parameters", c.parameters},
                          {"bytes", c.bytes},
                          {"types", c.types}});
  return {{"pipeline", pipeline.class_name()},
          {"folder", pipeline.folder().string()},
          {"components", components},
          {"memory_needed_bytes", memory},
          {"device", to_string(pipeline.device())},
          {"dtype", to_string(pipeline.dtype())}};
}

int inspect(const InspectOptions& options) {
  const std::string format = options.format.value_or("text");
  if (format != "text" && format != "dot")
    fail(ErrorKind::usage, "--format: expected text or dot, found {}", quote(format));
  if (options.format && options.component.empty())
    fail(ErrorKind::usage, "--format: needs --graph COMPONENT");
  if (options.json && !options.component.empty())
    fail(ErrorKind::usage, "--json: a graph is text or dot, see --format");
  const auto load = to_load_options(options.run);
  const auto pipeline =
      AutoPipelineForText2Image::from_pretrained(find_model(options.run.model.value_or("")).folder, load);
  CallArguments arguments;
  arguments.prompt = std::string();
  arguments.height = options.request.height;
  arguments.width = options.request.width;
  if (!options.component.empty()) {
    const auto graph = pipeline.component_graph(options.component, arguments);
    write_standard_output(format == "dot" ? graph::to_dot(graph) : graph::to_text(graph));
    return 0;
  }
  const auto memory = pipeline.memory_needed(arguments);
  write_standard_output(options.json ? dump_json(as_json(pipeline, memory)) + '\n'
                                     : as_text(pipeline, options.request, memory));
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = add_command(app, "inspect", "Tell what a model folder holds and needs", kExamples);
  const auto value = [&](const char* names, const char* placeholder, const char* help, auto take) {
    add_value(*command, names, placeholder, help, take);
  };
  value("MODEL", "",
        "Folder, ORG/NAME[@REVISION] in the local cache of the Hugging Face hub, or a name that comes with "
        "perfuse; "
        "default: $PERFUSE_MODEL, or emoji-pixart",
        [options](const std::string& text) { options->run.model = text; });
  value("--variant", "NAME", "Weights in files named *.NAME.safetensors (fp16)",
        [options](const std::string& text) { options->run.variant = text; });
  value("--device", "KIND[:I]", "The device that memory is told for; default: cpu",
        [options](const std::string& text) { options->run.device = text; });
  value("--dtype", "TYPE", "Type of the arithmetic: f32, bf16 or f16; default: the device's",
        [options](const std::string& text) { options->run.dtype = text; });
  value("--height", "PIXELS", "Default: the model's own size",
        [options](const std::string& text) { options->request.height = parse_integer("--height", text); });
  value("--width", "PIXELS", "Default: the model's own size",
        [options](const std::string& text) { options->request.width = parse_integer("--width", text); });
  value("--graph", "COMPONENT", "Print this component's graph",
        [options](const std::string& text) { options->component = text; });
  value("--format", "FORMAT", "Of the graph: text (default) or dot, for Graphviz",
        [options](const std::string& text) { options->format = text; });
  command->add_flag("--json", options->json, "One line of JSON");
  return {command, [options] { return inspect(*options); }};
}

}  // namespace perfuse::cli
