#include "perfuse/runtime/presence.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "perfuse/core/threads.h"

namespace perfuse::runtime::presence {
namespace {

namespace fs = std::filesystem;

// The first of these shared libraries that the loader finds. Loading runs the library's constructors, which is
// what using it would do too.
Presence any_library(std::initializer_list<const char*> names, std::string_view product) {
  for (const char* name : names) {
    const std::unique_ptr<void, int (*)(void*)> handle(::dlopen(name, RTLD_LAZY | RTLD_LOCAL), ::dlclose);
    if (handle) return {true, fmt::format("{} found", name)};
  }
  return {false, fmt::format("{} is not installed ({} not found)", product, *names.begin())};
}

// Device nodes PREFIX0, PREFIX1, … (or any number after the prefix) that exist.
std::vector<fs::path> numbered_nodes(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> nodes;
  std::error_code ignored;
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (name.size() <= prefix.size() || name.compare(0, prefix.size(), prefix) != 0) continue;
    if (name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    nodes.push_back(it->path());
  }
  return nodes;
}

Presence nodes_present(const std::vector<fs::path>& nodes, std::string_view what) {
  if (nodes.empty()) return {false, fmt::format("no {}", what)};
  for (const auto& node : nodes)
    if (::access(node.c_str(), R_OK | W_OK) == 0) return {true, fmt::format("{} found", nodes.size())};
  return {false, fmt::format("{} exists, but this user may not open it", nodes.front().string())};
}

// PCI functions of a vendor whose class begins with one of the given bytes (03 display, 12 accelerator).
int pci_count(std::string_view vendor, std::initializer_list<std::string_view> classes) {
  int count = 0;
  std::error_code ignored;
  for (fs::directory_iterator it("/sys/bus/pci/devices", ignored), end; it != end; it.increment(ignored)) {
    std::string found_vendor, found_class;
    std::ifstream(it->path() / "vendor") >> found_vendor;
    std::ifstream(it->path() / "class") >> found_class;
    if (found_vendor != vendor) continue;
    for (const auto wanted : classes) count += found_class.compare(0, wanted.size(), wanted) == 0 ? 1 : 0;
  }
  return count;
}

std::vector<fs::path> nvidia_nodes() { return numbered_nodes("/dev", "nvidia"); }
std::vector<fs::path> rocm_nodes() {
  if (pci_count("0x1002", {"0x03", "0x12"}) == 0) return {};
  return numbered_nodes("/dev/dri", "renderD");
}
std::vector<fs::path> xpu_nodes() {
  if (pci_count("0x8086", {"0x03", "0x12"}) == 0) return {};
  return numbered_nodes("/dev/dri", "renderD");
}
std::vector<fs::path> tpu_nodes() {
  auto nodes = numbered_nodes("/dev", "accel");
  if (nodes.empty() && pci_count("0x1ae0", {"0x"}) > 0) nodes = numbered_nodes("/dev/vfio", "");
  return nodes;
}
std::vector<fs::path> mlu_nodes() { return numbered_nodes("/dev", "cambricon_dev"); }
std::vector<fs::path> neuron_nodes() { return numbered_nodes("/dev", "neuron"); }

int count_of(const std::vector<fs::path>& nodes) { return static_cast<int>(nodes.size()); }

}  // namespace

Presence cpu_package() { return {true, "built in"}; }
Presence cpu_device() {
  return {true, fmt::format("{} core{}", available_cores(), available_cores() == 1 ? "" : "s")};
}
int cpu_count() { return 1; }

Presence cuda_package() { return any_library({"libcuda.so.1"}, "the NVIDIA driver library"); }
Presence cuda_device() { return nodes_present(nvidia_nodes(), "/dev/nvidia0"); }
int cuda_count() { return count_of(nvidia_nodes()); }

Presence rocm_package() {
  return any_library({"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6"}, "ROCm");
}
Presence rocm_device() { return nodes_present(rocm_nodes(), "AMD GPU with a /dev/dri/renderD node"); }
int rocm_count() { return pci_count("0x1002", {"0x03", "0x12"}); }

Presence xpu_package() { return any_library({"libze_loader.so.1"}, "Intel's Level Zero loader"); }
Presence xpu_device() { return nodes_present(xpu_nodes(), "Intel GPU with a /dev/dri/renderD node"); }
int xpu_count() { return pci_count("0x8086", {"0x03", "0x12"}); }

Presence tpu_package() { return any_library({"libtpu.so"}, "libtpu"); }
Presence tpu_device() {
  return nodes_present(tpu_nodes(), "/dev/accel0 or Google accelerator on the PCI bus");
}
int tpu_count() { return count_of(tpu_nodes()); }

Presence mps_package() { return {false, "Metal exists on macOS alone; this build is for Linux"}; }
Presence mps_device() { return {false, "Apple GPUs are reached from macOS alone"}; }
int mps_count() { return 0; }

Presence mlu_package() { return any_library({"libcnrt.so"}, "Cambricon's runtime"); }
Presence mlu_device() { return nodes_present(mlu_nodes(), "/dev/cambricon_dev0"); }
int mlu_count() { return count_of(mlu_nodes()); }

Presence neuron_package() {
  return any_library({"/opt/aws/neuron/lib/libnrt.so.1", "libnrt.so.1"}, "the Neuron runtime");
}
Presence neuron_device() { return nodes_present(neuron_nodes(), "/dev/neuron0"); }
int neuron_count() { return count_of(neuron_nodes()); }

}  // namespace perfuse::runtime::presence
