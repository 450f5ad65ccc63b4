#include "perfuse/tensor/dtype.h"

#include <utility>

namespace perfuse {

std::size_t size_of(DType dtype) {
  return visit_dtype(dtype, [](auto zero) { return sizeof(zero); });
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i32: return "i32";
    case DType::u8: return "u8";
    case DType::boolean: return "bool";
    case DType::i64: return "i64";
    case DType::f64: return "f64";
  }
  return "?";
}

std::optional<DType> parse_dtype(std::string_view name) {
  static constexpr std::pair<std::string_view, DType> kNames[] = {
      {"f32", DType::f32},     {"fp32", DType::f32},      {"float32", DType::f32},  {"float", DType::f32},
      {"bf16", DType::bf16},   {"bfloat16", DType::bf16}, {"f16", DType::f16},      {"fp16", DType::f16},
      {"float16", DType::f16}, {"half", DType::f16},      {"i32", DType::i32},      {"int32", DType::i32},
      {"u8", DType::u8},       {"uint8", DType::u8},      {"bool", DType::boolean}, {"i64", DType::i64},
      {"int64", DType::i64},   {"f64", DType::f64},       {"float64", DType::f64},  {"double", DType::f64},
  };
  for (const auto& [known, dtype] : kNames)
    if (known == name) return dtype;
  return std::nullopt;
}

bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f64;
}

}  // namespace perfuse
