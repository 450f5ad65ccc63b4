#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace perfuse {

// Sizes of the dimensions, outermost first. Never negative in a valid tensor; a scalar is {}.
using Shape = std::vector<std::int64_t>;

// Product of the sizes; throws Error(usage) where one is negative or the product passes 2^48.
[[nodiscard]] std::int64_t numel(std::span<const std::int64_t> shape);

// "[1, 4, 64, 64]"
[[nodiscard]] std::string to_string(std::span<const std::int64_t> shape);

}  // namespace perfuse
