#include "perfuse/backends/pjrt/loaded_executable.h"

#include <algorithm>
#include <utility>

#include "perfuse/core/file.h"

namespace perfuse::pjrt {
namespace {

// What the plugin says of outputs, or nothing where it lacks a function. Types unknown to perfuse are left out.
std::optional<std::vector<std::pair<std::optional<DType>, Shape>>> told_outputs(const Plugin& plugin,
                                                                                abi::Executable* executable) {
  abi::ExecutableOutputTypesArgs types{};
  types.executable = executable;
  abi::ExecutableOutputDimsArgs dims{};
  dims.executable = executable;
  if (plugin.attempt(types) || plugin.attempt(dims) || types.num_types != dims.num_outputs)
    return std::nullopt;
  std::vector<std::pair<std::optional<DType>, Shape>> outputs;
  const std::int64_t* next = dims.dims;
  for (std::size_t i = 0; i < types.num_types; ++i) {
    outputs.emplace_back(dtype_of(types.types[i]), Shape(next, next + dims.dim_sizes[i]));
    next += dims.dim_sizes[i];
  }
  return outputs;
}

}  // namespace

LoadedExecutable::LoadedExecutable(std::shared_ptr<const Client> client, abi::LoadedExecutable* handle,
                                   ProgramSignature signature)
    : client_(std::move(client)), handle_(handle), signature_(std::move(signature)) {
  // The destructor does not run where the constructor throws.
  try {
    abi::LoadedExecutableExecutableArgs arguments{};
    arguments.loaded = handle_;
    client_->plugin().call(arguments, "reading a compiled program");
    executable_ = arguments.executable;
    check_outputs();
    read_devices();
  } catch (...) {
    destroy();
    throw;
  }
}

LoadedExecutable::~LoadedExecutable() {
  if (!client_->abandoned()) destroy();
}

void LoadedExecutable::destroy() const {
  if (executable_ != nullptr) {
    abi::ExecutableDestroyArgs arguments{};
    arguments.executable = executable_;
    static_cast<void>(client_->plugin().attempt(arguments));
  }
  abi::LoadedExecutableDestroyArgs arguments{};
  arguments.executable = handle_;
  static_cast<void>(client_->plugin().attempt(arguments));
}

void LoadedExecutable::read_devices() {
  abi::LoadedExecutableDevicesArgs arguments{};
  arguments.executable = handle_;
  client_->plugin().call(arguments, "reading a compiled program");
  const auto& known = client_->devices();
  for (const abi::Device* device : std::span(arguments.devices, arguments.num_devices)) {
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& info) { return info.handle == device; });
    if (found == known.end())
      fail(ErrorKind::device, "plugin {}: a program was compiled for a device that it does not list",
           display(client_->plugin().path()));
    devices_.push_back(static_cast<std::size_t>(found - known.begin()));
  }
}

void LoadedExecutable::check_outputs() const {
  abi::ExecutableNumOutputsArgs number{};
  number.executable = executable_;
  client_->plugin().call(number, "reading a compiled program");
  const auto& wanted = signature_.outputs;
  if (number.num_outputs != wanted.size())
    fail(ErrorKind::compiler, "plugin {}: a compiled program has {} outputs, expected {}",
         display(client_->plugin().path()), number.num_outputs, wanted.size());
  const auto outputs = told_outputs(client_->plugin(), executable_);
  if (!outputs) return;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [dtype, shape] = outputs->at(i);
    if (dtype != wanted[i].dtype || shape != wanted[i].shape)
      fail(ErrorKind::compiler, "plugin {}: output {} of a compiled program is {}{}, expected {}",
           display(client_->plugin().path()), i, dtype ? to_string(*dtype) : "another type",
           perfuse::to_string(shape), graph::to_string(wanted[i]));
  }
}

std::optional<ProgramMemory> LoadedExecutable::memory() const {
  abi::ExecutableMemoryStatsArgs arguments{};
  arguments.executable = executable_;
  if (client_->plugin().attempt(arguments)) return std::nullopt;
  const auto bytes = [](std::int64_t value) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0));
  };
  return ProgramMemory{bytes(arguments.argument_bytes), bytes(arguments.output_bytes),
                       bytes(arguments.alias_bytes), bytes(arguments.temp_bytes),
                       bytes(arguments.generated_code_bytes)};
}

std::string LoadedExecutable::serialize() const {
  abi::ExecutableSerializeArgs arguments{};
  arguments.executable = executable_;
  client_->plugin().call(arguments, "serializing a compiled program", ErrorKind::compiler);
  const std::unique_ptr<abi::SerializedExecutable, void (*)(abi::SerializedExecutable*)> owner(
      arguments.serialized, arguments.deleter);
  return {arguments.bytes, arguments.bytes_size};
}

void LoadedExecutable::check_arguments(std::span<const Values> arguments) const {
  if (arguments.size() != devices_.size())
    fail(ErrorKind::usage, "a program for {} devices got arguments for {}", devices_.size(),
         arguments.size());
  for (std::size_t d = 0; d < arguments.size(); ++d) {
    if (arguments[d].size() != signature_.parameters.size())
      fail(ErrorKind::usage, "a program of {} parameters got {} arguments", signature_.parameters.size(),
           arguments[d].size());
    for (std::size_t i = 0; i < arguments[d].size(); ++i) {
      const auto& argument = arguments[d][i];
      if (!argument) fail(ErrorKind::usage, "argument {} of a program is missing", i);
      if (argument->type() != signature_.parameters[i])
        fail(ErrorKind::usage, "argument {} of a program is {}, expected {}", i,
             graph::to_string(argument->type()), graph::to_string(signature_.parameters[i]));
      if (&argument->client() != client_.get() || argument->device() != devices_[d])
        fail(ErrorKind::usage, "argument {} of a program is on device {}{}, expected {}", i,
             argument->device(), &argument->client() != client_.get() ? " of another client" : "",
             devices_[d]);
    }
  }
}

std::vector<LoadedExecutable::Values> LoadedExecutable::execute(std::span<const Values> arguments,
                                                                std::span<const std::int64_t> keep) const {
  check_arguments(arguments);
  client_->pending().sweep();
  const std::size_t num_devices = devices_.size();
  std::vector<std::vector<abi::Buffer*>> inputs(num_devices), outputs(num_devices);
  std::vector<abi::Buffer* const*> input_lists;
  std::vector<abi::Buffer**> output_lists;
  for (std::size_t d = 0; d < num_devices; ++d) {
    inputs[d].reserve(arguments[d].size());
    for (const auto& argument : arguments[d]) inputs[d].push_back(argument->handle());
    outputs[d].resize(signature_.outputs.size());
    input_lists.push_back(inputs[d].data());
    output_lists.push_back(outputs[d].data());
  }
  std::vector<abi::Event*> complete(num_devices);

  abi::ExecuteOptions options{};
  options.head.struct_size = sizeof(options);
  options.non_donatable_indices = keep.data();
  options.num_non_donatable_indices = keep.size();
  abi::LoadedExecutableExecuteArgs call{};
  call.executable = handle_;
  call.options = &options;
  call.argument_lists = input_lists.data();
  call.num_devices = num_devices;
  call.num_arguments = signature_.parameters.size();
  call.output_lists = output_lists.data();
  call.device_complete_events = complete.data();
  client_->plugin().call(call, "running a program");

  std::vector<Values> results(num_devices);
  for (std::size_t d = 0; d < num_devices; ++d) {
    client_->add_run(Event(client_->plugin(), complete[d]));
    for (std::size_t i = 0; i < outputs[d].size(); ++i)
      results[d].push_back(
          std::make_shared<const DeviceBuffer>(client_, outputs[d][i], signature_.outputs[i], devices_[d]));
  }
  return results;
}

}  // namespace perfuse::pjrt
