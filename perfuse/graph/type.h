#pragma once

#include <string>

#include "perfuse/tensor/dtype.h"
#include "perfuse/tensor/shape.h"

namespace perfuse::graph {

// Type and shape of a value in a graph: f32, bf16, f16, i32, u8 or boolean (no i64, no f64: token ids
// are i32, and no accelerator here computes in double).
struct ValueType {
  DType dtype = DType::f32;
  Shape shape;

  [[nodiscard]] int rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] std::int64_t numel() const { return perfuse::numel(shape); }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(numel()) * size_of(dtype); }
  friend bool operator==(const ValueType&, const ValueType&) = default;
};

// "bf16[2, 64, 64, 320]"
[[nodiscard]] std::string to_string(const ValueType& type);

}  // namespace perfuse::graph
