// The one pool of worker threads: OpenMP's, which oneDNN uses too, so cores are never oversubscribed.
#pragma once

#include <cstdint>
#include <functional>

namespace perfuse {

// Physical cores this process may use (affinity and cgroup quota respected), at least 1.
[[nodiscard]] int available_cores();

// Threads that parallel work uses, whichever thread starts it. 0, which a process begins with, means OMP_NUM_THREADS
// where that is set and available_cores() where not.
void set_num_threads(int threads);
[[nodiscard]] int num_threads();
// Makes OpenMP's own setting, which each thread has for itself, that of num_threads(). For libraries that ask OpenMP
// (oneDNN); call it where work on this thread begins.
void apply_num_threads();

// Calls body(begin, end) on disjoint, covering ranges of 0…count−1, in parallel where `count` ≥
// 2·grain. Ranges depend on count, grain and the number of threads alone. An exception in a body is
// rethrown here after all have ended.
template <class Body> void parallel_for(std::int64_t count, std::int64_t grain, const Body& body);

namespace detail {
void parallel_ranges(std::int64_t count, std::int64_t grain, const void* body,
                     void (*call)(const void* body, std::int64_t begin, std::int64_t end));
}

template <class Body> void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
  detail::parallel_ranges(count, grain, &body, [](const void* b, std::int64_t begin, std::int64_t end) {
    (*static_cast<const Body*>(b))(begin, end);
  });
}

}  // namespace perfuse
