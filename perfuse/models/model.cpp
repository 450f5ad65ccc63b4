#include "perfuse/models/model.h"

#include "perfuse/core/error.h"

namespace perfuse {

Model::Model(const std::filesystem::path& folder, const ModelOptions& options) : folder_(folder) {
  auto weights = std::make_shared<const WeightFiles>(WeightFiles::open(folder, options.variant));
  runtime::ComponentOptions component_options;
  component_options.dtype = options.dtype;
  component_options.granularity = options.granularity;
  component_options.mesh.devices = {options.context->device()};
  component_ = std::make_shared<runtime::Component>(folder.filename().string(), std::move(weights),
                                                    options.context, component_options);
}

graph::Graph Model::build(const std::function<void(graph::Builder&)>& body) const {
  graph::Builder builder(component_->name(), component_->weights(), component_->dtype());
  body(builder);
  return builder.finish();
}

ConfigReader read_model_config(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    fail(ErrorKind::model, "{}: no such folder; model_index.json names it as a component", folder.string());
  return ConfigReader(folder / "config.json");
}

}  // namespace perfuse
