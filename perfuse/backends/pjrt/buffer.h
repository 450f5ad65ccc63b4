// A value in a device's memory. Made by Client::upload and LoadedExecutable::execute; any thread may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "perfuse/backends/pjrt/event.h"
#include "perfuse/graph/type.h"

namespace perfuse::pjrt {

class Client;

// The plugin's number for a type. Error(unsupported) does not happen: every DType has one.
[[nodiscard]] abi::BufferType buffer_type(DType dtype);
// Nothing for types that perfuse lacks.
[[nodiscard]] std::optional<DType> dtype_of(abi::BufferType type);

class DeviceBuffer {
 public:
  // Takes `handle` over. `host_use` is the event after which `owner`, whose memory the buffer may be, is free;
  // both may be empty.
  DeviceBuffer(std::shared_ptr<const Client> client, abi::Buffer* handle, graph::ValueType type,
               std::size_t device, Event host_use = {}, std::shared_ptr<const void> owner = {});
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] const graph::ValueType& type() const { return type_; }
  [[nodiscard]] std::size_t device() const { return device_; }  // index into Client::devices()
  [[nodiscard]] const Client& client() const { return *client_; }
  [[nodiscard]] abi::Buffer* handle() const { return handle_; }

  // Whether the value is there; a value that could not be computed is, as far as this goes.
  [[nodiscard]] bool ready() const;
  // Waits until the value is there. The error of whatever should have made it.
  void await() const;
  // True once an execution has taken its memory over (donation).
  [[nodiscard]] bool deleted() const;
  // Bytes of device memory: type().bytes() and what the device pads. The former where the plugin can't tell.
  [[nodiscard]] std::size_t on_device_bytes() const;
  // The address in the device's address space; 0 where the plugin tells none.
  [[nodiscard]] std::uintptr_t address() const;
  // Waits for the value and copies it, row-major. `out` has type().bytes() bytes.
  void download(std::span<std::byte> out) const;

 private:
  [[nodiscard]] Event ready_event() const;

  std::shared_ptr<const Client> client_;
  abi::Buffer* handle_;
  graph::ValueType type_;
  std::size_t device_;
  Event host_use_;
  std::shared_ptr<const void> owner_;
};
using DeviceBufferPtr = std::shared_ptr<const DeviceBuffer>;

}  // namespace perfuse::pjrt
