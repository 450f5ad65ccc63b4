#include "perfuse/core/threads.h"

#include <fmt/format.h>
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <exception>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace perfuse {
namespace {

std::optional<std::string> first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

std::optional<double> to_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> ratio(std::string_view quota, std::string_view period) {
  const auto q = to_number(quota), p = to_number(period);
  if (!q || !p || *q <= 0 || *p <= 0) return std::nullopt;  // "max", or −1: no quota
  return *q / *p;
}

// This process's group below the mount of its hierarchy: "0::/user.slice" (v2, no controller named),
// "4:cpu,cpuacct:/docker/abc" (v1).
std::string group_of(std::string_view controller) {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    if (controller.empty() ? names == ",," : names.find(fmt::format(",{},", controller)) != std::string::npos)
      return line.substr(second + 1);
  }
  return "/";
}

// The least quota, in cores, of the group and all above it. In a container the path may be the
// host's and not exist; the mount's own files then hold the quota.
template <class Read>
std::optional<double> least_quota(const std::string& mount, std::string group, const Read& read) {
  std::optional<double> least;
  for (;;) {
    while (group.ends_with('/')) group.pop_back();
    if (const auto quota = read(mount + group)) least = least ? std::min(*least, *quota) : *quota;
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

std::optional<double> cgroup_quota() {
  const auto v2 =
      least_quota("/sys/fs/cgroup", group_of(""), [](const std::string& folder) -> std::optional<double> {
        const auto line = first_line(folder + "/cpu.max");  // "150000 100000" or "max 100000"
        if (!line) return std::nullopt;
        const auto space = line->find(' ');
        if (space == std::string::npos) return std::nullopt;
        return ratio(std::string_view(*line).substr(0, space), std::string_view(*line).substr(space + 1));
      });
  if (v2) return v2;
  return least_quota("/sys/fs/cgroup/cpu", group_of("cpu"),
                     [](const std::string& folder) -> std::optional<double> {
                       const auto quota = first_line(folder + "/cpu.cfs_quota_us"),
                                  period = first_line(folder + "/cpu.cfs_period_us");
                       if (!quota || !period) return std::nullopt;
                       return ratio(*quota, *period);
                     });
}

// Hyperthreads of one core share its multipliers: two workers there are slower than one.
int affine_physical_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return omp_get_num_procs();  // over 1024 processors
  std::set<std::pair<std::string, std::string>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto core = first_line(topology + "core_id"),
               package = first_line(topology + "physical_package_id");
    // Without a topology (some containers and virtual machines) every processor is a core.
    cores.emplace(package.value_or("cpu"), core ? *core : std::to_string(cpu));
  }
  return static_cast<int>(cores.size());
}

int count_cores() {
  const int cores = affine_physical_cores();
  const auto quota = cgroup_quota();
  // A quota of 1.5 runs two threads, half of the time each on one.
  const int most = quota && *quota < 1e6 ? static_cast<int>(std::ceil(*quota)) : cores;
  return std::max(1, std::min(cores, most));
}

}  // namespace

int available_cores() {
  static const int cores = count_cores();
  return cores;
}

void set_num_threads(int threads) { omp_set_num_threads(threads > 0 ? threads : available_cores()); }

int num_threads() { return omp_get_max_threads(); }

namespace detail {

void parallel_ranges(std::int64_t count, std::int64_t grain, const void* body,
                     void (*call)(const void* body, std::int64_t begin, std::int64_t end)) {
  if (count <= 0) return;
  const std::int64_t pieces = std::min<std::int64_t>(num_threads(), count / std::max<std::int64_t>(grain, 1));
  if (pieces < 2 || omp_in_parallel() != 0) {
    call(body, 0, count);
    return;
  }
  // Range i holds count/pieces entries, and the first count%pieces one more.
  const std::int64_t size = count / pieces, longer = count % pieces;
  std::exception_ptr error;
  std::atomic_flag failed;
#pragma omp parallel for num_threads(static_cast <int>(pieces)) schedule(static, 1)
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t begin = i * size + std::min(i, longer);
    try {
      call(body, begin, begin + size + (i < longer ? 1 : 0));
    } catch (...) {
      if (!failed.test_and_set()) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace perfuse
