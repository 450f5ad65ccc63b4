#include "apps/cli/wait_policy.h"

#include <unistd.h>

#include <cstdlib>

namespace perfuse::cli {
namespace {

// About 40 µs: bridges the gap between two regions, and is short against a time slice.
constexpr const char* kSpinCount = "1000";

}  // namespace

void settle_wait_policy(char** arguments) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", kSpinCount, 1) == 0) ::execv("/proc/self/exe", arguments);
}

}  // namespace perfuse::cli
