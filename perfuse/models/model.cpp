#include "perfuse/models/model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/log.h"

namespace perfuse {

Model::Model(const std::filesystem::path& folder, const ModelOptions& options) : folder_(folder) {
  auto weights = std::make_shared<const WeightFiles>(WeightFiles::open(folder, options.variant));
  runtime::ComponentOptions component_options;
  component_options.dtype = options.dtype;
  component_options.compile = options.compile;
  component_options.mesh.devices = {options.context->device()};
  component_ = std::make_shared<runtime::Component>(folder.filename().string(), std::move(weights),
                                                    options.context, component_options);
}

graph::Graph Model::build(const std::function<void(graph::Builder&)>& body) const {
  graph::Builder builder(component_->name(), component_->weights(), component_->dtype());
  body(builder);
  return builder.finish();
}

void warn_unused_weights(const Model& model, const std::vector<graph::Graph>& graphs) {
  std::set<std::string_view> used;
  for (const auto& graph : graphs)
    for (const auto& parameter : graph.parameters)
      for (const auto& source : parameter.recipe.sources) used.insert(source.keys.begin(), source.keys.end());
  constexpr std::size_t kMostNames = 5;
  std::vector<std::string> unused;
  for (const auto& name : model.component().weights()->names())
    if (!used.contains(name)) unused.push_back(name);
  if (unused.empty()) return;
  const auto more = unused.size() > kMostNames ? fmt::format(" and {} more", unused.size() - kMostNames) : "";
  unused.resize(std::min(unused.size(), kMostNames));
  log::warning("{}: {} doesn't use these tensors: {}{}", model.folder().string(), model.class_name(),
               fmt::join(unused, ", "), more);
}

ConfigReader read_model_config(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::model, "{}: {}; model_index.json names it as a component", display(folder),
         broken_link_target(folder)
             ? fmt::format("a link to {}, which does not exist", display(*broken_link_target(folder)))
             : "no such folder");
  ConfigReader config(folder / "config.json");
  config.refuse_unless("quantization_config", {},
                       "perfuse reads f32, bf16 and f16 weights; save the model without quantization");
  return config;
}

}  // namespace perfuse
