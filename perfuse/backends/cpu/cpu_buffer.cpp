#include "perfuse/backends/cpu/cpu_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::cpu {
namespace {

constexpr std::size_t kAlignment = 64;
// From here on memory comes from mmap directly: it goes back to the system when freed, and 2 MiB pages
// are asked for (fewer page faults in the first touch).
constexpr std::size_t kMapped = std::size_t{4} << 20;

std::atomic<std::uint64_t> in_use{0};
std::atomic<std::uint64_t> peak{0};

void count(std::size_t bytes) {
  const auto now = in_use.fetch_add(bytes) + bytes;
  auto most = peak.load();
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  void* data = nullptr;
  if (bytes >= kMapped) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) data = nullptr;
    if (data != nullptr) ::madvise(data, bytes, MADV_HUGEPAGE);
  } else {
    data = ::operator new (std::max<std::size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow);
  }
  if (data == nullptr)
    fail(ErrorKind::out_of_memory, "cpu: {} can't be allocated ({} in use by perfuse)", format_bytes(bytes),
         format_bytes(in_use));
  count(bytes);
  return {static_cast<std::byte*>(data), [bytes](std::byte* p) {
            if (bytes >= kMapped)
              ::munmap(p, bytes);
            else
              ::operator delete (p, std::align_val_t{kAlignment});
            in_use -= bytes;
          }};
}

}  // namespace

std::shared_ptr<CpuBuffer> allocate_buffer(const graph::ValueType& type) {
  auto memory = allocate(type.bytes());
  auto* data = memory.get();
  return std::make_shared<CpuBuffer>(type, data, std::move(memory));
}

std::shared_ptr<CpuBuffer> borrow_tensor(const Tensor& tensor) {
  auto owner = std::make_shared<const Tensor>(tensor);
  // Kernels write to results only, and those are never borrowed.
  auto* data = const_cast<std::byte*>(owner->bytes().data());
  return std::make_shared<CpuBuffer>(graph::ValueType{tensor.dtype(), tensor.shape()}, data,
                                     std::move(owner));
}

runtime::MemoryStats buffer_memory() { return {in_use, peak}; }
void reset_peak_buffer_memory() { peak = in_use.load(); }

}  // namespace perfuse::cpu
