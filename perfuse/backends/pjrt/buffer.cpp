#include "perfuse/backends/pjrt/buffer.h"

#include <utility>

#include "perfuse/backends/pjrt/client.h"

namespace perfuse::pjrt {

abi::BufferType buffer_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return abi::BufferType::f32;
    case DType::bf16: return abi::BufferType::bf16;
    case DType::f16: return abi::BufferType::f16;
    case DType::i32: return abi::BufferType::s32;
    case DType::u8: return abi::BufferType::u8;
    case DType::boolean: return abi::BufferType::pred;
    case DType::i64: return abi::BufferType::s64;
    case DType::f64: return abi::BufferType::f64;
  }
  return abi::BufferType::invalid;
}

std::optional<DType> dtype_of(abi::BufferType type) {
  switch (type) {
    case abi::BufferType::f32: return DType::f32;
    case abi::BufferType::bf16: return DType::bf16;
    case abi::BufferType::f16: return DType::f16;
    case abi::BufferType::s32: return DType::i32;
    case abi::BufferType::u8: return DType::u8;
    case abi::BufferType::pred: return DType::boolean;
    case abi::BufferType::s64: return DType::i64;
    case abi::BufferType::f64: return DType::f64;
    case abi::BufferType::invalid: break;
  }
  return std::nullopt;
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<const Client> client, abi::Buffer* handle, graph::ValueType type,
                           std::size_t device, Event host_use, std::shared_ptr<const void> owner)
    : client_(std::move(client)),
      handle_(handle),
      type_(std::move(type)),
      device_(device),
      host_use_(std::move(host_use)),
      owner_(std::move(owner)) {}

DeviceBuffer::~DeviceBuffer() {
  if (client_->abandoned()) {
    host_use_.abandon();
    return;
  }
  abi::BufferDestroyArgs arguments{};
  arguments.buffer = handle_;
  static_cast<void>(client_->plugin().attempt(arguments));
  // A running program may still read the host's memory.
  if (owner_ && !host_use_.ready()) client_->pending().add(std::move(host_use_), "", std::move(owner_));
  client_->pending().sweep();
}

Event DeviceBuffer::ready_event() const {
  abi::BufferReadyEventArgs arguments{};
  arguments.buffer = handle_;
  client_->plugin().call(arguments, "asking for a value");
  return {client_->plugin(), arguments.event};
}

bool DeviceBuffer::ready() const { return ready_event().ready(); }

void DeviceBuffer::await() const { ready_event().await("computing a value"); }

bool DeviceBuffer::deleted() const {
  abi::BufferIsDeletedArgs arguments{};
  arguments.buffer = handle_;
  client_->plugin().call(arguments, "asking for a value");
  return arguments.is_deleted;
}

std::size_t DeviceBuffer::on_device_bytes() const {
  abi::BufferOnDeviceSizeArgs arguments{};
  arguments.buffer = handle_;
  return client_->plugin().attempt(arguments) ? type_.bytes() : arguments.bytes;
}

std::uintptr_t DeviceBuffer::address() const {
  abi::BufferUnsafePointerArgs arguments{};
  arguments.buffer = handle_;
  return client_->plugin().attempt(arguments) ? 0 : arguments.pointer;
}

void DeviceBuffer::download(std::span<std::byte> out) const {
  if (out.size() != type_.bytes())
    fail(ErrorKind::usage, "download of {}: room for {} bytes, expected {}", graph::to_string(type_),
         out.size(), type_.bytes());
  abi::BufferToHostArgs arguments{};
  arguments.buffer = handle_;
  arguments.destination = out.data();
  arguments.size = out.size();
  if (out.empty()) return await();
  client_->plugin().call(arguments, "downloading a value");
  Event(client_->plugin(), arguments.event).await("downloading a value");
}

}  // namespace perfuse::pjrt
