// A compiled program on its devices. Immutable, run by any number of threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perfuse/backends/pjrt/client.h"

namespace perfuse::pjrt {

// Device memory of one run, in bytes.
struct ProgramMemory {
  std::uint64_t arguments, outputs;
  std::uint64_t aliased;  // outputs that take an argument's memory over
  std::uint64_t temporary;
  std::uint64_t code;
};

class LoadedExecutable {
 public:
  // Takes `handle` over. Error(compiler) where its outputs are not those of the signature.
  LoadedExecutable(std::shared_ptr<const Client> client, abi::LoadedExecutable* handle,
                   ProgramSignature signature);
  ~LoadedExecutable();
  LoadedExecutable(const LoadedExecutable&) = delete;
  LoadedExecutable& operator=(const LoadedExecutable&) = delete;

  [[nodiscard]] const ProgramSignature& signature() const { return signature_; }
  // Where it runs, as indices into Client::devices(): one for each replica, in the order of argument lists.
  [[nodiscard]] const std::vector<std::size_t>& devices() const { return devices_; }
  // Nothing where the plugin doesn't tell.
  [[nodiscard]] std::optional<ProgramMemory> memory() const;
  // Bytes for Client::deserialize. Error(unsupported) where the plugin can't.
  [[nodiscard]] std::string serialize() const;

  // Starts one run and returns; arguments[d] are the arguments on devices()[d], the result is [device][output].
  // An argument whose parameter the program aliases to an output is deleted, unless its number is in `keep`.
  // Error(usage) for a wrong number, type or device of an argument. What goes wrong later is the error
  // of the outputs and of Client::synchronize.
  using Values = std::vector<DeviceBufferPtr>;
  [[nodiscard]] std::vector<Values> execute(std::span<const Values> arguments,
                                            std::span<const std::int64_t> keep = {}) const;

 private:
  void destroy() const;
  void read_devices();
  void check_outputs() const;
  void check_arguments(std::span<const Values> arguments) const;

  std::shared_ptr<const Client> client_;
  abi::LoadedExecutable* handle_;
  abi::Executable* executable_ = nullptr;
  ProgramSignature signature_;
  std::vector<std::size_t> devices_;
};

}  // namespace perfuse::pjrt
