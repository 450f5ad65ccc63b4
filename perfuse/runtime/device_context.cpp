#include "perfuse/runtime/device_context.h"

#include "perfuse/core/error.h"

namespace perfuse::runtime {

std::shared_ptr<const Executable> DeviceContext::executable(const graph::Segment& segment) {
  const std::scoped_lock lock(mutex_);
  auto& entry = executables_[segment.key];
  if (entry) return entry;
  for (const auto& node : segment.program.nodes)
    if (const auto reason = backend_->refusal(segment.program, node))
      fail(ErrorKind::unsupported, "{}: {} ({}): {}", to_string(device_), node.path,
           graph::to_string(node.op), *reason);
  entry = backend_->compile(segment.program);
  ++compiled_;
  return entry;
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

DeviceContext::Counters DeviceContext::counters() const {
  return {compiled_, uploads_, upload_bytes_, downloads_, parameters_};
}

}  // namespace perfuse::runtime
