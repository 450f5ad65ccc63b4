// How much memory this process may use, and how much it does.
#pragma once

#include <cstdint>

namespace perfuse::runtime {

// Physical memory, or the cgroup's limit where that is lower; bytes.
[[nodiscard]] std::uint64_t host_memory_limit();
// The most resident memory this process has had (VmHWM); bytes.
[[nodiscard]] std::uint64_t peak_resident_memory();

}  // namespace perfuse::runtime
