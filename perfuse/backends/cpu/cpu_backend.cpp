// The CPU as a device: oneDNN and our own kernels.
#include <malloc.h>

#include <cstring>

#include "perfuse/backends/cpu/cpu_buffer.h"
#include "perfuse/backends/cpu/cpu_executable.h"

namespace perfuse::cpu {
namespace {

class CpuBackend : public runtime::Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "cpu"; }

  // Every op has a kernel that takes every legal node: the compiler checks the first, all_ops_test the second.
  [[nodiscard]] std::optional<std::string> refusal(const graph::Graph&, const graph::Node&) const override {
    return std::nullopt;
  }
  // Choosing kernels takes microseconds: there is nothing to cache.
  [[nodiscard]] runtime::Compiled compile(const graph::Graph& program,
                                          const runtime::CompileRequest&) override {
    return {std::make_shared<CpuExecutable>(program), false, {}};
  }
  [[nodiscard]] int compile_jobs() const override { return 1; }
  [[nodiscard]] bool places_values() const override { return true; }
  [[nodiscard]] runtime::BufferPtr allocate(const graph::ValueType& type) override {
    return allocate_buffer(type);
  }
  [[nodiscard]] runtime::BufferPtr place(const runtime::BufferPtr& area, std::size_t offset,
                                         const graph::ValueType& type) override {
    return std::make_shared<CpuBuffer>(type, data_of(area) + offset, area);
  }
  [[nodiscard]] runtime::BufferPtr upload(const Tensor& host) override { return borrow_tensor(host); }
  [[nodiscard]] Tensor download(const runtime::BufferPtr& buffer) override {
    Tensor tensor = Tensor::empty(buffer->type().dtype, buffer->type().shape);
    std::memcpy(tensor.mutable_bytes().data(), data_of(buffer), tensor.nbytes());
    return tensor;
  }
  [[nodiscard]] runtime::MemoryStats memory_stats() const override { return buffer_memory(); }
  void reset_peak_memory() override { reset_peak_buffer_memory(); }
  void synchronize() override {}  // run() returns when the work is done
  void empty_cache() override { ::malloc_trim(0); }
};

const runtime::RegisterBackend registered("cpu", [](const Device&) -> std::shared_ptr<runtime::Backend> {
  return std::make_shared<CpuBackend>();
});

}  // namespace
}  // namespace perfuse::cpu
