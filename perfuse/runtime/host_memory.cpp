#include "perfuse/runtime/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace perfuse::runtime {
namespace {

// A number from a cgroup file; "max" and absent files mean no limit.
std::uint64_t cgroup_limit(const char* file) {
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  return in >> bytes ? bytes : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

std::uint64_t host_memory_limit() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const auto physical = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  return std::min({physical, cgroup_limit("/sys/fs/cgroup/memory.max"),
                   cgroup_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

std::uint64_t peak_resident_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace perfuse::runtime
