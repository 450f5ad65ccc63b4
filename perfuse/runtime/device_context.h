// What the components on one device share: the backend, the executables, the counters.
//
// Thread-safe. A program is compiled once however many threads want it, and different programs side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "perfuse/graph/segment.h"
#include "perfuse/runtime/backend.h"
#include "perfuse/runtime/traits.h"

namespace perfuse::runtime {

class DeviceContext {
 public:
  // `row` is for tests; it must outlive the context.
  explicit DeviceContext(const Device& device) : DeviceContext(device, runtime::traits(device.kind())) {}
  DeviceContext(const Device& device, const DeviceTraits& row)
      : device_(device), traits_(row), backend_(backend_for(device_)) {}

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const DeviceTraits& traits() const { return traits_; }
  [[nodiscard]] Backend& backend() const { return *backend_; }
  // The CPU, for what this device can't run; made at the first call.
  [[nodiscard]] DeviceContext& host();

  // Why this device can't run the node, or nothing if it can.
  [[nodiscard]] std::optional<std::string> refusal(const graph::Graph& graph, const graph::Node& node) const;

  // The executables of these segments, by position: compiled or taken from `cache` (may be null) at the first call, shared
  // by all equal segments. `component` is for messages.
  [[nodiscard]] std::vector<std::shared_ptr<const Executable>> executables(
      const std::string& component, std::span<const graph::Segment> segments,
      const std::shared_ptr<CompileCache>& cache);

  // Uploads are counted by kind: a warm step makes few, and none of weights.
  [[nodiscard]] BufferPtr upload(const Tensor& host);
  [[nodiscard]] Tensor download(const BufferPtr& buffer);
  [[nodiscard]] BufferPtr prepare_parameter(const ParameterFormat& format, const Tensor& host);

  // A node ran on the host because this device can't: counted, and told once for each op.
  void count_host_run(const graph::Node& node);

  struct Counters {
    std::uint64_t executables_compiled, executables_from_cache, uploads, upload_bytes, downloads,
        parameters_prepared, host_runs;
  };
  [[nodiscard]] Counters counters() const;
  // Why programs were compiled rather than found in the cache, a line each.
  [[nodiscard]] std::vector<std::string> cache_misses() const;

 private:
  using Future = std::shared_future<std::shared_ptr<const Executable>>;
  [[nodiscard]] std::shared_ptr<const Executable> executable(const std::string& component,
                                                             const graph::Segment& segment,
                                                             const std::shared_ptr<CompileCache>& cache);
  [[nodiscard]] std::shared_ptr<const Executable> compile(const std::string& component,
                                                          const graph::Segment& segment,
                                                          const std::shared_ptr<CompileCache>& cache);

  Device device_;
  const DeviceTraits& traits_;
  std::shared_ptr<Backend> backend_;
  mutable std::mutex mutex_;
  std::unique_ptr<DeviceContext> host_;
  std::map<std::string, Future> executables_;  // by segment key
  std::set<std::string> reported_;             // ops that ran on the host
  std::vector<std::string> misses_;
  std::atomic<std::uint64_t> compiled_{0}, from_cache_{0}, uploads_{0}, upload_bytes_{0}, downloads_{0},
      parameters_{0}, host_runs_{0};
};

}  // namespace perfuse::runtime
