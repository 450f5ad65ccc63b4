// Recorded tensors and the rule that they are compared by.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "perfuse/core/json.h"
#include "perfuse/tensor/safetensors.h"

namespace perfuse::test {

// tests/data
[[nodiscard]] std::filesystem::path data_folder();

struct Golden {
  SafetensorsFile tensors;
  Json json;

  // golden/NAME.{safetensors,json}
  [[nodiscard]] static Golden open(const std::string& name);
  [[nodiscard]] bool has(const std::string& key) const { return tensors.contains(key); }
  [[nodiscard]] Tensor operator[](const std::string& key) const { return tensors.tensor(key); }
  // max(10 × the noise floor that was recorded for the tensor, 2e-6 × its largest absolute value)
  [[nodiscard]] double tolerance(const std::string& key) const;
};

// Largest absolute difference; infinite where shapes differ or a value is not finite.
[[nodiscard]] double max_difference(const Tensor& a, const Tensor& b);
[[nodiscard]] double mean_difference(const Tensor& a, const Tensor& b);

// Holds if `actual` is within the tolerance of the golden's tensor `key`.
[[nodiscard]] ::testing::AssertionResult near_golden(const Tensor& actual, const Golden& golden,
                                                     const std::string& key);
// Holds if shapes and all values are the same (integers of any width).
[[nodiscard]] ::testing::AssertionResult same_integers(const Tensor& actual, const Tensor& expected);

}  // namespace perfuse::test
