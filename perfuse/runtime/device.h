#pragma once

#include <string>
#include <string_view>

namespace perfuse {

enum class DeviceKind { cpu, cuda, rocm, xpu, tpu, mps, mlu, neuron };
inline constexpr int kDeviceKinds = 8;

[[nodiscard]] std::string_view to_string(DeviceKind kind);

// A kind and an index. Strings end at the command line and at this constructor.
class Device {
 public:
  Device() = default;
  constexpr Device(DeviceKind kind, int index) : kind_(kind), index_(index) {}
  // "cpu", "cuda:1", "neuron:3". Error(usage) with the known kinds for anything else.
  explicit Device(std::string_view text);

  [[nodiscard]] DeviceKind kind() const { return kind_; }
  [[nodiscard]] int index() const { return index_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  DeviceKind kind_ = DeviceKind::cpu;
  int index_ = 0;
};

// "cpu", "cuda:1": the index is left out for the CPU.
[[nodiscard]] std::string to_string(const Device& device);

}  // namespace perfuse
