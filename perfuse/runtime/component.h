// One sub-model of a pipeline folder on its device: weights, and the modules built for the shapes seen so far.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "perfuse/runtime/compile_options.h"
#include "perfuse/runtime/mesh.h"
#include "perfuse/runtime/module.h"

namespace perfuse::runtime {

struct ComponentOptions {
  DType dtype = DType::f32;
  CompileOptions compile;
  Mesh mesh;
};

class Component {
 public:
  // `weights` may be null (small programs without parameters). Error(unsupported) for a mesh larger than 1, and for a type
  // or granularity that the device kind lacks.
  Component(std::string name, std::shared_ptr<const WeightFiles> weights,
            std::shared_ptr<DeviceContext> context, ComponentOptions options);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] DType dtype() const { return options_.dtype; }
  [[nodiscard]] DeviceContext& context() const { return *context_; }
  [[nodiscard]] const WeightFiles* weights() const { return parameters_->weights(); }
  // Modules asked for from now on are cut and compiled so; weights stay where they are.
  void set_compile_options(const CompileOptions& options);

  // The module of this key (which must say everything that the graph depends on), built at the first call. `taps` are module
  // paths that become outputs too.
  using Build = std::function<graph::Graph()>;
  [[nodiscard]] std::shared_ptr<const Module> module(const std::string& key,
                                                     const std::vector<std::string>& taps,
                                                     const Build& build);

  // Drops prepared weights, the files' resident pages and idle workspaces; the next run brings them back.
  void release();
  // Drops idle workspaces alone.
  void release_workspaces();
  [[nodiscard]] std::vector<std::shared_ptr<const Module>> modules() const;

 private:
  void check(const CompileOptions& options) const;

  std::string name_;
  std::shared_ptr<DeviceContext> context_;
  ComponentOptions options_;  // `compile` under mutex_
  std::shared_ptr<ParameterStore> parameters_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Module>> modules_;
};

}  // namespace perfuse::runtime
