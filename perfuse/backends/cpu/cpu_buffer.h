// Values of the CPU backend: plain memory, owned, borrowed from a mapped file, or part of an area.
#pragma once

#include <cstddef>
#include <memory>

#include "perfuse/runtime/backend.h"

namespace perfuse::cpu {

class CpuBuffer : public runtime::Buffer {
 public:
  // `owner` keeps `data` alive.
  CpuBuffer(graph::ValueType type, std::byte* data, std::shared_ptr<const void> owner)
      : Buffer(std::move(type), Device{}), data_(data), owner_(std::move(owner)) {}
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::byte* data_;
  std::shared_ptr<const void> owner_;
};

// Uninitialised, 64-byte aligned, counted in memory_stats. Error(out_of_memory) says how much was wanted.
[[nodiscard]] std::shared_ptr<CpuBuffer> allocate_buffer(const graph::ValueType& type);

// The bytes of a host tensor (a mapped file's, too) without a copy.
[[nodiscard]] std::shared_ptr<CpuBuffer> borrow_tensor(const Tensor& tensor);

// What allocate_buffer has handed out.
[[nodiscard]] runtime::MemoryStats buffer_memory();
void reset_peak_buffer_memory();

// The data of a buffer that this backend made.
[[nodiscard]] inline std::byte* data_of(const runtime::BufferPtr& buffer) {
  return static_cast<const CpuBuffer&>(*buffer).data();
}

}  // namespace perfuse::cpu
