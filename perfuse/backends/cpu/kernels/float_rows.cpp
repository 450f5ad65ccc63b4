#include "perfuse/backends/cpu/kernels/float_rows.h"

#include <cstring>

#include "perfuse/backends/cpu/kernels/simd_targets.h"
#include "perfuse/core/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/float_rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using U16 = hn::Rebind<std::uint16_t, F32>;
using I32 = hn::RebindToSigned<F32>;
using VF = hn::Vec<F32>;

VF load(const bfloat16* from) {
  const auto bits = hn::LoadU(U16(), reinterpret_cast<const std::uint16_t*>(from));
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), bits)));
}

void store(VF value, bfloat16* to) {
  const auto u = hn::BitCast(U32(), value);
  const auto odd = hn::And(hn::ShiftRight<16>(u), hn::Set(U32(), 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(u, hn::Set(U32(), 0x7fff)), odd));
  const auto quiet = hn::Or(hn::ShiftRight<16>(u), hn::Set(U32(), 0x40));
  const auto nan = hn::RebindMask(U32(), hn::IsNaN(value));
  const auto bits = hn::BitCast(I32(), hn::IfThenElse(nan, quiet, rounded));
  hn::StoreU(hn::DemoteTo(U16(), bits), U16(), reinterpret_cast<std::uint16_t*>(to));
}

// Without F16C instructions, Highway truncates.
#if HWY_ARCH_X86 && HWY_TARGET >= HWY_SSE4
VF load(const float16* from) {
  HWY_ALIGN float lanes[hn::MaxLanes(F32())];
  for (std::size_t i = 0; i < hn::Lanes(F32()); ++i) lanes[i] = static_cast<float>(from[i]);
  return hn::Load(F32(), lanes);
}
void store(VF value, float16* to) {
  HWY_ALIGN float lanes[hn::MaxLanes(F32())];
  hn::Store(value, F32(), lanes);
  for (std::size_t i = 0; i < hn::Lanes(F32()); ++i) to[i] = float16(lanes[i]);
}
#else
using F16 = hn::Rebind<hwy::float16_t, F32>;
VF load(const float16* from) {
  return hn::PromoteTo(F32(), hn::LoadU(F16(), reinterpret_cast<const hwy::float16_t*>(from)));
}
void store(VF value, float16* to) {
  hn::StoreU(hn::DemoteTo(F16(), value), F16(), reinterpret_cast<hwy::float16_t*>(to));
}
#endif

template <class T> void widen(const T* from, std::size_t count, float* to) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(load(from + i), F32(), to + i);
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <class T> void narrow(const float* from, std::size_t count, T* to) {
  const std::size_t lanes = hn::Lanes(F32());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) store(hn::LoadU(F32(), from + i), to + i);
  for (; i < count; ++i) to[i] = T(from[i]);
}

}  // namespace

void widen_bf16(const bfloat16* from, std::size_t count, float* to) { widen(from, count, to); }
void widen_f16(const float16* from, std::size_t count, float* to) { widen(from, count, to); }
void narrow_bf16(const float* from, std::size_t count, bfloat16* to) { narrow(from, count, to); }
void narrow_f16(const float* from, std::size_t count, float16* to) { narrow(from, count, to); }

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(widen_bf16);
HWY_EXPORT(widen_f16);
HWY_EXPORT(narrow_bf16);
HWY_EXPORT(narrow_f16);

void to_f32(DType type, const std::byte* from, std::int64_t count, float* to) {
  const auto n = static_cast<std::size_t>(count);
  switch (type) {
    case DType::f32: std::memcpy(to, from, n * sizeof(float)); return;
    case DType::bf16: HWY_DYNAMIC_DISPATCH(widen_bf16)(elements<bfloat16>(from), n, to); return;
    case DType::f16: HWY_DYNAMIC_DISPATCH(widen_f16)(elements<float16>(from), n, to); return;
    default: fail(ErrorKind::unsupported, "{} as f32: expected f32, bf16 or f16", to_string(type));
  }
}

void from_f32(const float* from, std::int64_t count, DType type, std::byte* to) {
  const auto n = static_cast<std::size_t>(count);
  switch (type) {
    case DType::f32: std::memcpy(to, from, n * sizeof(float)); return;
    case DType::bf16: HWY_DYNAMIC_DISPATCH(narrow_bf16)(from, n, elements<bfloat16>(to)); return;
    case DType::f16: HWY_DYNAMIC_DISPATCH(narrow_f16)(from, n, elements<float16>(to)); return;
    default: fail(ErrorKind::unsupported, "f32 to {}: expected f32, bf16 or f16", to_string(type));
  }
}

}  // namespace perfuse::cpu
#endif
