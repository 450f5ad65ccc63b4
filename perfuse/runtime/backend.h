// The interfaces that a family of devices implements. Backends register themselves; nobody above
// includes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/graph/graph.h"
#include "perfuse/runtime/device.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse::runtime {

class CompileCache;

// Memory on a device that holds one value.
class Buffer {
 public:
  Buffer(graph::ValueType type, const Device& device) : type_(std::move(type)), device_(device) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] const graph::ValueType& type() const { return type_; }
  [[nodiscard]] const Device& device() const { return device_; }

 private:
  graph::ValueType type_;
  Device device_;
};
using BufferPtr = std::shared_ptr<const Buffer>;

// How an executable wants one parameter to lie in memory. Depends on the parameter and the device, never on
// the size of images, so that executables of all sizes share one prepared copy.
class ParameterFormat {
 public:
  virtual ~ParameterFormat() = default;
  // Equal ids mean equal formats: the key under which a component keeps the prepared parameter.
  [[nodiscard]] virtual std::string id() const = 0;
  // Brings the parameter to the device. May keep a view of the host tensor (a mapped file).
  [[nodiscard]] virtual BufferPtr prepare(const Tensor& host) const = 0;
};

// One parameter operand that an executable takes: which parameter of the program, in which format. The same
// parameter may be wanted in two formats.
struct ParameterUse {
  int parameter;
  std::shared_ptr<const ParameterFormat> format;
};

// Why a kernel was taken, and what was tried before it (--explain).
struct KernelChoice {
  std::string node;                   // path and op
  std::string kernel;                 // the one taken
  std::vector<std::string> refusals;  // "name: reason", in order of trial
};

// An input of one run. Where the run is the last that reads it, a program may take its memory for an output; the
// buffer is then empty, and using it again is an error.
struct InputValue {
  BufferPtr buffer;
  bool last_use = false;
};

// A compiled program. Immutable, used by any number of threads at once.
class Executable {
 public:
  virtual ~Executable() = default;
  // Parameters to pass to run(), in order.
  [[nodiscard]] virtual const std::vector<ParameterUse>& parameter_uses() const = 0;
  // Device memory that run() needs besides its operands.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  // `outputs[i]` is either a buffer to fill, of the right type, or null: then run() makes one. Waits for
  // nothing that the backend can order by itself.
  virtual void run(std::span<const BufferPtr> parameters, std::span<const InputValue> inputs,
                   std::span<BufferPtr> outputs, const BufferPtr& scratch) const = 0;
  [[nodiscard]] virtual std::vector<KernelChoice> explain() const = 0;
};

struct MemoryStats {
  std::uint64_t in_use = 0;  // bytes now
  std::uint64_t peak = 0;    // most since the last reset
};

// What goes with a program to be compiled, and decides nothing about the result.
struct CompileRequest {
  std::string label;                    // component and segment, for people
  std::shared_ptr<CompileCache> cache;  // null: compile always, keep nothing
};

struct Compiled {
  std::shared_ptr<const Executable> executable;
  bool from_cache = false;
  std::string miss_reason;  // why the cache could not give it; empty without a cache
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;  // "cpu", "pjrt", "neuron"
  // Why this node can't run here, or nothing if it can. Asked when segments are cut.
  [[nodiscard]] virtual std::optional<std::string> refusal(const graph::Graph& graph,
                                                           const graph::Node& node) const = 0;
  // Error(compiler) with the compiler's words. Called from several threads at once.
  [[nodiscard]] virtual Compiled compile(const graph::Graph& program, const CompileRequest& request) = 0;
  // How many compilations are worth running side by side.
  [[nodiscard]] virtual int compile_jobs() const = 0;
  // Whether place() lays values out; without, executables make their outputs.
  [[nodiscard]] virtual bool places_values() const = 0;

  // Plain memory, 64-byte aligned; Error(out_of_memory) says how much was wanted and how much there is.
  [[nodiscard]] virtual BufferPtr allocate(const graph::ValueType& type) = 0;
  // A value inside `area` (an allocate() of u8), where places_values().
  [[nodiscard]] virtual BufferPtr place(const BufferPtr& area, std::size_t offset,
                                        const graph::ValueType& type) = 0;
  [[nodiscard]] virtual BufferPtr upload(const Tensor& host) = 0;
  [[nodiscard]] virtual Tensor download(const BufferPtr& buffer) = 0;
  [[nodiscard]] virtual MemoryStats memory_stats() const = 0;
  virtual void reset_peak_memory() = 0;
  // Waits for everything that was started; throws what went wrong in it.
  virtual void synchronize() = 0;
  // Gives cached memory back to the system.
  virtual void empty_cache() = 0;
};

// Backends by name. A factory makes the backend of one device, or throws Error(device) with the reason.
using BackendFactory = std::shared_ptr<Backend> (*)(const Device& device);
struct RegisterBackend {
  RegisterBackend(std::string_view name, BackendFactory factory);
};
// The one backend object of this device (made at the first call). Error(unsupported) where its kind's backend is not
// in this build, naming those that are.
[[nodiscard]] std::shared_ptr<Backend> backend_for(const Device& device);
[[nodiscard]] bool backend_registered(std::string_view name);

}  // namespace perfuse::runtime
