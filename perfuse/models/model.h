// What every model class has in common: a folder, a configuration, a component on a device.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "perfuse/core/json.h"
#include "perfuse/graph/builder.h"
#include "perfuse/runtime/component.h"

namespace perfuse {

struct ModelOptions {
  std::shared_ptr<runtime::DeviceContext> context;
  DType dtype = DType::f32;
  runtime::CompileOptions compile;
  std::string variant;
};

class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // diffusers' or transformers' class name.
  [[nodiscard]] virtual std::string_view class_name() const = 0;
  [[nodiscard]] runtime::Component& component() const { return *component_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 protected:
  // `folder` holds config.json and the weights; its last name is the component's.
  Model(const std::filesystem::path& folder, const ModelOptions& options);

  // Opens a builder over the weights, lets `body` fill it, and gives the graph.
  [[nodiscard]] graph::Graph build(const std::function<void(graph::Builder&)>& body) const;

  std::filesystem::path folder_;
  std::shared_ptr<runtime::Component> component_;
};

// Warns of stored tensors that none of these graphs is made of: whoever saved them expects something of them.
void warn_unused_weights(const Model& model, const std::vector<graph::Graph>& graphs);

// config.json of a component folder. Error(model) names the folder where there is none.
[[nodiscard]] ConfigReader read_model_config(const std::filesystem::path& folder);

}  // namespace perfuse
