#include "perfuse/runtime/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "perfuse/core/cgroup.h"

namespace perfuse::runtime {

std::uint64_t host_memory_limit() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const auto physical = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  return std::min(physical, cgroup_memory().value_or(physical));
}

std::uint64_t peak_resident_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace perfuse::runtime
