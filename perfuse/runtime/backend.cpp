#include "perfuse/runtime/backend.h"

#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "perfuse/core/error.h"
#include "perfuse/runtime/traits.h"

namespace perfuse::runtime {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, BackendFactory, std::less<>> factories;
  std::map<std::string, std::shared_ptr<Backend>, std::less<>> backends;  // by device
};

// Filled while libraries are loaded, so it must exist before any other static object asks for it.
Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

RegisterBackend::RegisterBackend(std::string_view name, BackendFactory factory) {
  registry().factories.emplace(name, factory);
}

bool backend_registered(std::string_view name) {
  const std::scoped_lock lock(registry().mutex);
  return registry().factories.contains(name);
}

std::shared_ptr<Backend> backend_for(const Device& device) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  auto& backend = all.backends[to_string(device)];
  if (backend) return backend;
  const auto& row = traits(device.kind());
  const auto factory = all.factories.find(row.backend);
  if (factory == all.factories.end()) {
    std::vector<std::string_view> built;
    for (const auto& [name, make] : all.factories) built.push_back(name);
    fail(ErrorKind::unsupported, "device {}: its backend \"{}\" is not in this build of perfuse (built: {})",
         to_string(device), row.backend, fmt::join(built, ", "));
  }
  backend = factory->second(device);
  return backend;
}

}  // namespace perfuse::runtime
