// Limits that Linux's control groups put on this process (a container's, a service's), versions 1 and 2.
#pragma once

#include <cstdint>
#include <optional>

namespace perfuse {

// The least of the limits of this process's group and all groups above it; nothing where there is none.
[[nodiscard]] std::optional<double> cgroup_cores();
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory();  // bytes

}  // namespace perfuse
