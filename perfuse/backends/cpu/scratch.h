// Laying several areas out in a kernel's scratch memory.
#pragma once

#include <cstddef>

namespace perfuse::cpu {

class ScratchLayout {
 public:
  // Offset of a further area, aligned to a cache line.
  [[nodiscard]] std::size_t add(std::size_t bytes) {
    const auto offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace perfuse::cpu
