// The weights of one component, as its executables want them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "perfuse/graph/graph.h"
#include "perfuse/runtime/device_context.h"

namespace perfuse::runtime {

// Prepared at first use and kept until release(): shared by all executables and image sizes of the
// component, and by concurrent calls.
class ParameterStore {
 public:
  ParameterStore(std::shared_ptr<const WeightFiles> weights, std::shared_ptr<DeviceContext> context)
      : weights_(std::move(weights)), context_(std::move(context)) {}

  [[nodiscard]] BufferPtr get(const graph::Parameter& parameter, const graph::ValueType& type,
                              const ParameterFormat& format);
  // Forgets the prepared parameters (a run that holds some keeps them to its end) and drops the files' pages from memory.
  void release();
  [[nodiscard]] const WeightFiles* weights() const { return weights_.get(); }

 private:
  std::shared_ptr<const WeightFiles> weights_;  // null for programs without parameters
  std::shared_ptr<DeviceContext> context_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, BufferPtr> prepared_;  // by parameter name and format id
  std::set<std::string> finite_;                                       // parameters whose values were checked
};

}  // namespace perfuse::runtime
