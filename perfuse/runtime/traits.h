// What the device kinds differ in: one row per kind, every column filled. There is no default row.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "perfuse/runtime/device.h"
#include "perfuse/tensor/dtype.h"

namespace perfuse::runtime {

// Two questions that must not be confused: software that is there says nothing of hardware.
struct Presence {
  bool yes = false;
  std::string detail;  // what was found and where, or why not
};

enum class RandomSource { host, device };

// Which graph types a device computes with, and what stands in for one that it has not.
struct TypeRule {
  DType type;
  DType replacement;  // the type itself where it is supported
};

struct DeviceTraits {
  DeviceKind kind;
  std::string_view name;
  std::string_view vendor;   // for people
  std::string_view backend;  // "cpu", "pjrt", "neuron"
  // References: a row that leaves one out does not compile.
  Presence (&package_installed)();  // the vendor's runtime software
  Presence (&device_present)();     // a device that this process could open
  int (&device_count)();
  std::array<TypeRule, 8> types;  // by DType; i64 and f64 never reach a device
  RandomSource random;
  DType default_dtype;
  bool eager, compiled, collectives, training;
  // Queries × keys of one attention tile. From here, never from the present machine's memory: keys of
  // programs that are compiled ahead of time depend on it.
  std::int64_t attention_query_chunk, attention_key_chunk;
  bool memory_stats, reset_peak_memory, empty_cache, synchronize;
  // Ops by name that the kind can't run, and that the host runs for it. Empty for all kinds so far; a test's row uses it.
  std::span<const std::string_view> host_ops;
};

[[nodiscard]] const DeviceTraits& traits(DeviceKind kind);
[[nodiscard]] std::span<const DeviceTraits, kDeviceKinds> all_traits();

// The type that values of `dtype` have on this kind.
[[nodiscard]] DType device_dtype(DeviceKind kind, DType dtype);

}  // namespace perfuse::runtime
