// What the tests of the PJRT backend share: the CPU plugin, and clients with as many devices as a test wants.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "perfuse/backends/pjrt/client.h"
#include "perfuse/backends/pjrt/loaded_executable.h"
#include "tests/backends_pjrt/tiny_hlo.h"
#include "tests/support/scratch.h"

namespace perfuse::pjrt::test {

using perfuse::test::contains;
using perfuse::test::error_of;
using perfuse::test::message_of;

// The CPU plugin that tools/setup fetched, or the one that PERFUSE_TEST_PJRT_PLUGIN names.
inline std::filesystem::path cpu_plugin() {
  const char* const given = std::getenv("PERFUSE_TEST_PJRT_PLUGIN");
  if (given != nullptr && *given != '\0') return given;
  return std::filesystem::path(PERFUSE_SOURCE_DIR) / "build/deps/pjrt/pjrt_c_api_cpu_plugin.so";
}

inline std::shared_ptr<Client> cpu_client(std::int64_t devices = 1) {
  const std::vector<NamedValue> options{{"cpu_device_count", devices}};
  return Client::create(Plugin::load(cpu_plugin()), options);
}

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

inline graph::ValueType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

inline DeviceBufferPtr upload(const Client& client, const std::vector<float>& values,
                              std::size_t device = 0) {
  return client.upload({bytes_of(values), f32({static_cast<std::int64_t>(values.size())})}, device);
}

inline std::vector<float> download(const DeviceBuffer& buffer) {
  std::vector<float> values(static_cast<std::size_t>(buffer.type().numel()));
  buffer.download(std::as_writable_bytes(std::span(values)));
  return values;
}

inline std::shared_ptr<const LoadedExecutable> compile(const Client& client, TinyHlo& hlo,
                                                       const std::vector<TinyHlo::Value>& outputs,
                                                       int replicas = 1) {
  ProgramSignature signature{hlo.parameters(), {}};
  for (const auto output : outputs) signature.outputs.push_back(hlo.type(output));
  return client.compile(bytes_of(hlo.module(outputs)), bytes_of(compile_options(replicas)), signature);
}

// f32[n] a, b -> a + b
inline std::shared_ptr<const LoadedExecutable> compile_addition(const Client& client, std::int64_t n) {
  TinyHlo hlo;
  const auto a = hlo.parameter(f32({n})), b = hlo.parameter(f32({n}));
  return compile(client, hlo, {hlo.binary("add", a, b)});
}

}  // namespace perfuse::pjrt::test
