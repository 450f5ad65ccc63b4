// What the components on one device share: the backend, the executables, the counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "perfuse/graph/segment.h"
#include "perfuse/runtime/backend.h"

namespace perfuse::runtime {

class DeviceContext {
 public:
  explicit DeviceContext(Device device) : device_(device), backend_(backend_for(device)) {}

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] Backend& backend() const { return *backend_; }

  // The executable of this segment: compiled at the first call, shared by all equal segments.
  [[nodiscard]] std::shared_ptr<const Executable> executable(const graph::Segment& segment);

  // Uploads are counted by kind: a warm step makes few, and none of weights.
  [[nodiscard]] BufferPtr upload(const Tensor& host);
  [[nodiscard]] Tensor download(const BufferPtr& buffer);
  [[nodiscard]] BufferPtr prepare_parameter(const ParameterFormat& format, const Tensor& host);

  struct Counters {
    std::uint64_t executables_compiled, uploads, upload_bytes, downloads, parameters_prepared;
  };
  [[nodiscard]] Counters counters() const;

 private:
  Device device_;
  std::shared_ptr<Backend> backend_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Executable>> executables_;  // by segment key
  std::atomic<std::uint64_t> compiled_{0}, uploads_{0}, upload_bytes_{0}, downloads_{0}, parameters_{0};
};

}  // namespace perfuse::runtime
