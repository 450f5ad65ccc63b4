#include "perfuse/tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perfuse/core/error.h"

namespace perfuse {

std::int64_t numel(std::span<const std::int64_t> shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;  // 2^48 elements are past any memory
  std::int64_t product = 1;
  for (const auto size : shape) {
    if (size < 0) fail(ErrorKind::usage, "shape {} has a negative size", to_string(shape));
    if (size != 0 && product > kMost / size)
      fail(ErrorKind::usage, "shape {} is too large", to_string(shape));
    product *= size;
  }
  return product;
}

std::string to_string(std::span<const std::int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace perfuse
