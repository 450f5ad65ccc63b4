#include "perfuse/runtime/traits.h"

#include "perfuse/runtime/presence.h"

namespace perfuse::runtime {
namespace {

using enum DType;

// By DType: f32, bf16, f16, i32, u8, boolean, i64, f64. 64-bit types are narrowed before any device.
constexpr std::array<TypeRule, 8> kAllTypes{
    {{f32, f32}, {bf16, bf16}, {f16, f16}, {i32, i32}, {u8, u8}, {boolean, boolean}, {i64, i32}, {f64, f32}}};

// Braces without names are not used here: a column that is added must be filled in every row.
constexpr std::array<DeviceTraits, kDeviceKinds> kTraits{{
    {.kind = DeviceKind::cpu,
     .name = "cpu",
     .vendor = "any x86-64 or Arm processor",
     .backend = "cpu",
     .package_installed = presence::cpu_package,
     .device_present = presence::cpu_device,
     .device_count = presence::cpu_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = f32,
     .eager = true,
     .compiled = true,
     .collectives = false,
     .training = false,
     .attention_query_chunk = 64,
     .attention_key_chunk = 256,
     .memory_stats = true,
     .reset_peak_memory = true,
     .empty_cache = true,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::cuda,
     .name = "cuda",
     .vendor = "NVIDIA",
     .backend = "pjrt",
     .package_installed = presence::cuda_package,
     .device_present = presence::cuda_device,
     .device_count = presence::cuda_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 1024,
     .attention_key_chunk = 4096,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::rocm,
     .name = "rocm",
     .vendor = "AMD",
     .backend = "pjrt",
     .package_installed = presence::rocm_package,
     .device_present = presence::rocm_device,
     .device_count = presence::rocm_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 1024,
     .attention_key_chunk = 4096,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::xpu,
     .name = "xpu",
     .vendor = "Intel GPU",
     .backend = "pjrt",
     .package_installed = presence::xpu_package,
     .device_present = presence::xpu_device,
     .device_count = presence::xpu_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 1024,
     .attention_key_chunk = 4096,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::tpu,
     .name = "tpu",
     .vendor = "Google",
     .backend = "pjrt",
     .package_installed = presence::tpu_package,
     .device_present = presence::tpu_device,
     .device_count = presence::tpu_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 1024,
     .attention_key_chunk = 4096,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::mps,
     .name = "mps",
     .vendor = "Apple",
     .backend = "pjrt",
     .package_installed = presence::mps_package,
     .device_present = presence::mps_device,
     .device_count = presence::mps_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = false,
     .training = false,
     .attention_query_chunk = 512,
     .attention_key_chunk = 2048,
     .memory_stats = false,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::mlu,
     .name = "mlu",
     .vendor = "Cambricon",
     .backend = "pjrt",
     .package_installed = presence::mlu_package,
     .device_present = presence::mlu_device,
     .device_count = presence::mlu_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 1024,
     .attention_key_chunk = 4096,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = false,
     .synchronize = true,
     .host_ops = {}},
    {.kind = DeviceKind::neuron,
     .name = "neuron",
     .vendor = "AWS Trainium and Inferentia",
     .backend = "neuron",
     .package_installed = presence::neuron_package,
     .device_present = presence::neuron_device,
     .device_count = presence::neuron_count,
     .types = kAllTypes,
     .random = RandomSource::host,
     .default_dtype = bf16,
     .eager = true,
     .compiled = true,
     .collectives = true,
     .training = false,
     .attention_query_chunk = 512,
     .attention_key_chunk = 2048,
     .memory_stats = true,
     .reset_peak_memory = false,
     .empty_cache = true,
     .synchronize = true,
     .host_ops = {}},
}};

// Every row in its place, every column filled: a forgotten one does not compile, is an empty name or a zero.
constexpr bool complete() {
  for (std::size_t i = 0; i < kTraits.size(); ++i) {
    const auto& row = kTraits[i];
    if (static_cast<std::size_t>(row.kind) != i || row.name.empty() || row.vendor.empty() ||
        row.backend.empty())
      return false;
    if (row.attention_query_chunk <= 0 || row.attention_key_chunk <= 0 || !(row.eager || row.compiled))
      return false;
    for (std::size_t t = 0; t < row.types.size(); ++t)
      if (static_cast<std::size_t>(row.types[t].type) != t) return false;
  }
  return true;
}
static_assert(complete(), "a device kind without a full row of traits");

}  // namespace

const DeviceTraits& traits(DeviceKind kind) { return kTraits[static_cast<std::size_t>(kind)]; }

std::span<const DeviceTraits, kDeviceKinds> all_traits() { return kTraits; }

DType device_dtype(DeviceKind kind, DType dtype) {
  return traits(kind).types[static_cast<std::size_t>(dtype)].replacement;
}

}  // namespace perfuse::runtime
