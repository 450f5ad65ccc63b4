#include "perfuse/runtime/device_context.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"

namespace perfuse::runtime {
namespace {

// Calls work(0) … work(count − 1), up to `jobs` at a time; rethrows the first error when all have ended.
template <class Work> void run_side_by_side(std::size_t count, int jobs, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto worker = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const auto threads = std::min(count, static_cast<std::size_t>(std::max(jobs, 1)));
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(worker);
    worker();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

DeviceContext& DeviceContext::host() {
  const std::scoped_lock lock(mutex_);
  if (!host_) host_ = std::make_unique<DeviceContext>(Device{});
  return *host_;
}

std::optional<std::string> DeviceContext::refusal(const graph::Graph& graph, const graph::Node& node) const {
  const auto name = graph::name_of(node.op);
  if (std::find(traits_.host_ops.begin(), traits_.host_ops.end(), name) != traits_.host_ops.end())
    return fmt::format("{} devices don't run {}", traits_.name, name);
  return backend_->refusal(graph, node);
}

std::vector<std::shared_ptr<const Executable>> DeviceContext::executables(
    const std::string& component, std::span<const graph::Segment> segments,
    const std::shared_ptr<CompileCache>& cache) {
  std::vector<std::size_t> distinct;  // the first segment of each key
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < segments.size(); ++i)
    if (seen.insert(segments[i].key).second) distinct.push_back(i);
  run_side_by_side(distinct.size(), backend_->compile_jobs(), [&](std::size_t i) {
    static_cast<void>(executable(component, segments[distinct[i]], cache));
  });
  std::vector<std::shared_ptr<const Executable>> result;
  result.reserve(segments.size());
  for (const auto& segment : segments) result.push_back(executable(component, segment, cache));
  return result;
}

std::shared_ptr<const Executable> DeviceContext::executable(const std::string& component,
                                                            const graph::Segment& segment,
                                                            const std::shared_ptr<CompileCache>& cache) {
  std::promise<std::shared_ptr<const Executable>> promise;
  Future future;
  bool mine = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto [entry, is_new] = executables_.try_emplace(segment.key);
    mine = is_new;
    if (mine) entry->second = promise.get_future().share();
    future = entry->second;
  }
  if (mine) {
    try {
      promise.set_value(compile(component, segment, cache));
    } catch (...) {
      {
        const std::scoped_lock lock(mutex_);
        executables_.erase(segment.key);  // the next call tries again
      }
      promise.set_exception(std::current_exception());
    }
  }
  return future.get();
}

std::shared_ptr<const Executable> DeviceContext::compile(const std::string& component,
                                                         const graph::Segment& segment,
                                                         const std::shared_ptr<CompileCache>& cache) {
  const std::string label = segment.name == component ? component : component + "." + segment.name;
  auto compiled = backend_->compile(segment.program, {label, cache});
  ++(compiled.from_cache ? from_cache_ : compiled_);
  if (!compiled.miss_reason.empty()) {
    const std::scoped_lock lock(mutex_);
    misses_.push_back(fmt::format("{}: {}", label, compiled.miss_reason));
  }
  return std::move(compiled.executable);
}

BufferPtr DeviceContext::upload(const Tensor& host) {
  ++uploads_;
  upload_bytes_ += host.nbytes();
  return backend_->upload(host);
}

Tensor DeviceContext::download(const BufferPtr& buffer) {
  ++downloads_;
  return backend_->download(buffer);
}

BufferPtr DeviceContext::prepare_parameter(const ParameterFormat& format, const Tensor& host) {
  ++parameters_;
  return format.prepare(host);
}

void DeviceContext::count_host_run(const graph::Node& node) {
  ++host_runs_;
  const std::scoped_lock lock(mutex_);
  if (reported_.emplace(graph::name_of(node.op)).second)
    log::warning("{}: {} ({}) runs on the host: the device can't", to_string(device_), node.path,
                 graph::to_string(node.op));
}

DeviceContext::Counters DeviceContext::counters() const {
  return {compiled_, from_cache_, uploads_, upload_bytes_, downloads_, parameters_, host_runs_};
}

std::vector<std::string> DeviceContext::cache_misses() const {
  const std::scoped_lock lock(mutex_);
  return misses_;
}

}  // namespace perfuse::runtime
