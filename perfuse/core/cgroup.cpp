#include "perfuse/core/cgroup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace perfuse {
namespace {

std::optional<std::string> first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return line;
}

// A number above 0; "max" and −1 mean no limit.
std::optional<double> to_limit(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

std::optional<double> limit_in(const std::string& file) {
  const auto line = first_line(file);
  return line ? to_limit(*line) : std::nullopt;
}

std::optional<double> ratio(std::optional<double> quota, std::optional<double> period) {
  if (!quota || !period) return std::nullopt;
  return *quota / *period;
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

// The least limit of the group and all above it. In a container the path may be the host's and not exist; the
// mount's own files then hold the limit.
template <class Read>
std::optional<double> least_limit(const std::string& mount, std::string group, const Read& read) {
  std::optional<double> least;
  for (;;) {
    while (group.ends_with('/')) group.pop_back();
    if (const auto limit = read(mount + group)) least = least ? std::min(*least, *limit) : *limit;
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

}  // namespace

std::optional<double> cgroup_cores() {
  const auto v2 = least_limit("/sys/fs/cgroup", group_of(""), [](const std::string& folder) {
    const auto line = first_line(folder + "/cpu.max").value_or("");  // "150000 100000" or "max 100000"
    const auto space = std::min(line.find(' '), line.size());
    const std::string_view text = line;
    return ratio(to_limit(text.substr(0, space)), to_limit(text.substr(std::min(space + 1, text.size()))));
  });
  if (v2) return v2;
  return least_limit("/sys/fs/cgroup/cpu", group_of("cpu"), [](const std::string& folder) {
    return ratio(limit_in(folder + "/cpu.cfs_quota_us"), limit_in(folder + "/cpu.cfs_period_us"));
  });
}

std::optional<std::uint64_t> cgroup_memory() {
  auto bytes = least_limit("/sys/fs/cgroup", group_of(""),
                           [](const std::string& folder) { return limit_in(folder + "/memory.max"); });
  if (!bytes)
    bytes = least_limit("/sys/fs/cgroup/memory", group_of("memory"), [](const std::string& folder) {
      return limit_in(folder + "/memory.limit_in_bytes");
    });
  // Version 1 writes "no limit" as a number near 2^63.
  if (!bytes || *bytes >= 0x1p62) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

}  // namespace perfuse
