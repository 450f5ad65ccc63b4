// A plugin's client: the devices, what compiles for them, what brings values to them.
//
// Lifetimes: buffers and executables hold their client, which holds its plugin. Everything may be called from
// any number of threads at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfuse/backends/pjrt/buffer.h"
#include "perfuse/backends/pjrt/event.h"
#include "perfuse/backends/pjrt/plugin.h"
#include "perfuse/graph/type.h"

namespace perfuse::pjrt {

class LoadedExecutable;

// A device that this process can use.
struct DeviceInfo {
  abi::Device* handle;
  int id;                   // the plugin's own number
  std::string kind;         // "cpu", "NVIDIA H100 80GB HBM3"
  std::string description;  // the plugin's name for it: "CpuDevice(id=0)"
};

struct DeviceMemory {
  std::uint64_t in_use;
  std::optional<std::uint64_t> peak, limit;
};

// Types of the values that a program takes and gives on each device. Plugins compare sizes in bytes and no types, so
// it is perfuse that checks arguments.
struct ProgramSignature {
  std::vector<graph::ValueType> parameters, outputs;
};

// How a host value comes to a device.
enum class UploadPath {
  copy,       // one call; the plugin has its copy when upload() returns
  chunked,    // in pieces, two of them under way at a time
  zero_copy,  // the buffer may be the host's memory itself, which its owner then keeps until the end
};
inline constexpr std::size_t kUploadChunk = std::size_t{64} << 20;
// A buffer can be host memory only where that is aligned so.
inline constexpr std::size_t kZeroCopyAlignment = 64;

struct HostValue {
  std::span<const std::byte> bytes;  // dense, row-major
  graph::ValueType type;
  std::shared_ptr<const void> owner = {};  // keeps `bytes` alive; without it they are copied
  // Told of every range that the device has its own copy of by now (its pages in a mapped file may go).
  std::function<void(std::span<const std::byte>)> copied = {};
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  // Error(device), mostly, with the plugin's reason.
  [[nodiscard]] static std::shared_ptr<Client> create(std::shared_ptr<const Plugin> plugin,
                                                      std::span<const NamedValue> options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] const Plugin& plugin() const { return *plugin_; }
  [[nodiscard]] const std::string& platform_name() const { return platform_name_; }        // "cpu", "cuda"
  [[nodiscard]] const std::string& platform_version() const { return platform_version_; }  // "" where untold
  [[nodiscard]] const std::vector<DeviceInfo>& devices() const { return devices_; }

  // `program` is a serialized HloModuleProto, `options` a serialized CompileOptionsProto with the numbers of replicas
  // and partitions. Error(compiler); malformed options, which make plugins abort, are Error(usage).
  [[nodiscard]] std::shared_ptr<const LoadedExecutable> compile(std::span<const std::byte> program,
                                                                std::span<const std::byte> options,
                                                                ProgramSignature signature) const;
  // What LoadedExecutable::serialize gave, for the same plugin file and kind of device.
  [[nodiscard]] std::shared_ptr<const LoadedExecutable> deserialize(std::span<const std::byte> bytes,
                                                                    ProgramSignature signature) const;

  // Zero-copy on CPUs for large values with an owner, in pieces for large values elsewhere, else a copy.
  [[nodiscard]] DeviceBufferPtr upload(const HostValue& value, std::size_t device) const;
  // The same on a given path. Without the plugin's functions for pieces, `chunked` is Error(unsupported).
  [[nodiscard]] DeviceBufferPtr upload(const HostValue& value, std::size_t device, UploadPath path) const;

  // Nothing where the plugin doesn't tell.
  [[nodiscard]] std::optional<DeviceMemory> memory(std::size_t device) const;
  // Waits for every execution started so far; the first error since the last call.
  void synchronize() const;

  [[nodiscard]] abi::Client* handle() const { return handle_; }
  [[nodiscard]] PendingWork& pending() const { return pending_; }
  // Keeps a started run's event. The calling thread waits for it when it ends, the main thread so before
  // the process takes down what programs stand on.
  void add_run(Event event) const;
  // The process ends: plugins may have torn down what handles belong to, so nothing is destroyed any more.
  [[nodiscard]] bool abandoned() const { return abandoned_; }

 private:
  Client(std::shared_ptr<const Plugin> plugin, abi::Client* handle);
  static void abandon_all();
  [[nodiscard]] UploadPath path_for(const HostValue& value) const;
  [[nodiscard]] DeviceBufferPtr upload_whole(const HostValue& value, std::size_t device,
                                             bool zero_copy) const;
  [[nodiscard]] DeviceBufferPtr upload_chunked(const HostValue& value, std::size_t device) const;

  std::shared_ptr<const Plugin> plugin_;
  abi::Client* handle_;
  std::string platform_name_, platform_version_;
  std::vector<DeviceInfo> devices_;
  mutable PendingWork pending_;
  std::atomic<bool> abandoned_{false};
};

}  // namespace perfuse::pjrt
