#include "perfuse/backends/cpu/isa.h"

#include <hwy/targets.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "perfuse/core/error.h"

namespace perfuse::cpu {
namespace {

struct Limit {
  std::string_view name;
  dnnl::cpu_isa onednn;
  std::int64_t disabled;  // Highway's targets; better ones have lower bits
};
constexpr std::array kLimits{
    Limit{"avx2", dnnl::cpu_isa::avx2, HWY_AVX2 - 1},
    Limit{"avx512", dnnl::cpu_isa::avx512_core_vnni, HWY_AVX3 - 1},
    Limit{"avx512_bf16", dnnl::cpu_isa::avx512_core_bf16, 0},
};

bool apply_limit() {
  const char* wanted = std::getenv("PERFUSE_MAX_ISA");
  if (wanted == nullptr || *wanted == '\0') return true;
  for (const auto& limit : kLimits) {
    if (limit.name != wanted) continue;
    if (dnnl::set_max_cpu_isa(limit.onednn) != dnnl::status::success)
      fail(ErrorKind::usage, "PERFUSE_MAX_ISA={}: oneDNN was used before it could be limited", wanted);
    if (limit.disabled != 0) hwy::DisableTargets(limit.disabled);
    return true;
  }
  fail(ErrorKind::usage, "PERFUSE_MAX_ISA={}: expected avx2, avx512 or avx512_bf16", wanted);
}

}  // namespace

void limit_isa() { [[maybe_unused]] static const bool applied = apply_limit(); }

bool has_bf16_dot() {
  limit_isa();
  constexpr auto needed = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

}  // namespace perfuse::cpu
