// Element types of host tensors and files.
//
// Graphs use only f32, bf16, f16, i32, u8 and boolean (see graph/type.h); i64 and f64 exist on the
// host and in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "perfuse/tensor/half.h"

namespace perfuse {

enum class DType { f32, bf16, f16, i32, u8, boolean, i64, f64 };

// Bytes of one element.
[[nodiscard]] std::size_t size_of(DType dtype);

// "f32", "bf16", "f16", "i32", "u8", "bool", "i64", "f64".
[[nodiscard]] std::string_view to_string(DType dtype);

// The inverse of to_string; also takes torch's names ("float32", "bfloat16", …).
[[nodiscard]] std::optional<DType> parse_dtype(std::string_view name);

// f32, bf16, f16, f64.
[[nodiscard]] bool is_floating(DType dtype);

// The C++ type of an element <-> DType. `bool` is one byte, 0 or 1.
template <class T> struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType value = DType::f32; };
template <> struct DTypeOf<bfloat16> { static constexpr DType value = DType::bf16; };
template <> struct DTypeOf<float16> { static constexpr DType value = DType::f16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::i32; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::u8; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::i64; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::f64; };

// Calls f(T{}) with the element type of `dtype`: visit_dtype(d, [&](auto zero) { using T = decltype(zero); … }).
template <class F> decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bf16: return f(bfloat16{});
    case DType::f16: return f(float16{});
    case DType::i32: return f(std::int32_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::boolean: return f(bool{});
    case DType::i64: return f(std::int64_t{});
    case DType::f64: return f(double{});
    case DType::f32: break;
  }
  return f(float{});
}

}  // namespace perfuse
