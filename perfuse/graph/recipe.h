// How a parameter is made from the tensors of a component's weight files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perfuse/tensor/safetensors.h"

namespace perfuse::graph {

// The sources are taken and sliced, and what is left is converted, concatenated, permuted and reshaped. With one
// source, no change and the same type, the result is a view of the mapped file.
struct Recipe {
  struct Source {
    std::vector<std::string> keys;  // alternatives: the first that the files have (old and new names)
    Shape shape;                    // as stored
    struct Slice {
      int axis;
      std::int64_t begin, end;
    };
    std::optional<Slice> slice;
  };
  std::vector<Source> sources;
  int concat_axis = 0;
  std::vector<int> permutation;  // empty: none
  bool reshape = false;          // to the parameter's shape at the end (a 1×1 convolution as a matrix)
};

// One tensor of the files, as it is.
[[nodiscard]] Recipe stored_as(std::vector<std::string> keys, Shape shape);
// A convolution: stored [O, I, KH, KW], wanted [O, KH, KW, I].
[[nodiscard]] Recipe stored_as_oihw(std::vector<std::string> keys, const Shape& ohwi);

// The shape that a recipe makes of sources that have the shapes it expects; `wanted` is the parameter's. Error(usage)
// where slices, parts, axes or sizes don't fit each other: a mistake in the model's code.
[[nodiscard]] Shape shape_of(const Recipe& recipe, const Shape& wanted);

// Looks a recipe's sources up. Appends to `problems` a line for each that is absent, has another shape
// or a type that weights don't have; returns the type that the files hold (f32 where they differ).
[[nodiscard]] DType check(const Recipe& recipe, const WeightFiles& weights,
                          std::vector<std::string>& problems);

// Carries a recipe out, giving `shape` and `dtype`. check() has passed.
[[nodiscard]] Tensor materialize(const Recipe& recipe, const WeightFiles& weights, const Shape& shape,
                                 DType dtype);

}  // namespace perfuse::graph
