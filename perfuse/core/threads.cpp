#include "perfuse/core/threads.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "perfuse/core/cgroup.h"

namespace perfuse {
namespace {

std::optional<std::string> first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
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
  const auto quota = cgroup_cores();
  // A quota of 1.5 runs two threads, half of the time each on one.
  const int most = quota && *quota < 1e6 ? static_cast<int>(std::ceil(*quota)) : cores;
  return std::max(1, std::min(cores, most));
}

}  // namespace

int available_cores() {
  static const int cores = count_cores();
  return cores;
}

namespace {

std::atomic<int> wanted_threads{0};

int default_threads() {
  static const int threads =
      std::getenv("OMP_NUM_THREADS") != nullptr ? omp_get_max_threads() : available_cores();
  return threads;
}

}  // namespace

void set_num_threads(int threads) {
  wanted_threads = std::max(threads, 0);
  apply_num_threads();
}

int num_threads() {
  const int wanted = wanted_threads;
  return wanted > 0 ? wanted : default_threads();
}

void apply_num_threads() {
  if (omp_get_max_threads() != num_threads()) omp_set_num_threads(num_threads());
}

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
