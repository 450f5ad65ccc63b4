// What reading and writing safetensors share: limits, and the format's element types.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "perfuse/tensor/dtype.h"

namespace perfuse::safetensors {

// The reference implementation's limit; real headers take up to a few MB.
inline constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
inline constexpr std::size_t kLengthBytes = 8;
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct ElementType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype;  // nothing: known, so that a file's ranges can be checked, but not read
};

inline constexpr std::array<ElementType, 22> kElementTypes{{
    {"F32", 32, DType::f32}, {"BF16", 16, DType::bf16},
    {"F16", 16, DType::f16}, {"I32", 32, DType::i32},
    {"U8", 8, DType::u8},    {"BOOL", 8, DType::boolean},
    {"I64", 64, DType::i64}, {"F64", 64, DType::f64},
    {"F4", 4, {}},           {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},      {"F8_E5M2", 8, {}},
    {"F8_E4M3", 8, {}},      {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}},  {"F8_E5M2FNUZ", 8, {}},
    {"I8", 8, {}},           {"I16", 16, {}},
    {"U16", 16, {}},         {"U32", 32, {}},
    {"U64", 64, {}},         {"C64", 64, {}},
}};

constexpr const ElementType* find_element_type(std::string_view name) {
  for (const auto& type : kElementTypes)
    if (type.name == name) return &type;
  return nullptr;
}

constexpr std::string_view name_of(DType dtype) {
  for (const auto& type : kElementTypes)
    if (type.dtype == dtype) return type.name;
  return {};
}

}  // namespace perfuse::safetensors
