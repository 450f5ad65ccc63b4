#include <fmt/format.h>

#include <cstring>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/core/error.h"

namespace perfuse::cpu {
namespace {

class EmbeddingKernel final : public Kernel {
 public:
  explicit EmbeddingKernel(const NodeInfo& node)
      : table_(node.operands[0]), result_(node.result.dtype), ids_(node.operands[1].numel()) {}

  void run(const KernelArgs& args) const override {
    const auto* ids = elements<std::int32_t>(args.operands[1]);
    const auto vocabulary = table_.shape[0], channels = table_.shape[1];
    for (std::int64_t i = 0; i < ids_; ++i)
      if (ids[i] < 0 || ids[i] >= vocabulary)
        fail(ErrorKind::usage, "embedding: id {} at position {}, expected 0 to {} (the table's rows)", ids[i],
             i, vocabulary - 1);
    const auto grain = std::max<std::int64_t>(1, kMemoryGrain / std::max<std::int64_t>(1, channels));
    parallel_for(ids_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) copy_row(args, ids[i] * channels, i * channels, channels);
    });
  }

 private:
  void copy_row(const KernelArgs& args, std::int64_t from, std::int64_t to, std::int64_t channels) const {
    if (table_.dtype == result_) {
      const auto size = size_of(result_);
      std::memcpy(args.result + static_cast<std::size_t>(to) * size,
                  args.operands[0] + static_cast<std::size_t>(from) * size,
                  static_cast<std::size_t>(channels) * size);
      return;
    }
    alignas(64) float buffer[kBlock];
    for (std::int64_t c = 0; c < channels; c += kBlock) {
      const auto n = std::min(kBlock, channels - c);
      float* target = target_f32(result_, args.result, to + c, buffer);
      const float* row = read_f32(table_.dtype, args.operands[0], from + c, n, target);
      store_f32(result_, args.result, to + c, n, row);
    }
  }

  graph::ValueType table_;
  DType result_;
  std::int64_t ids_;
};

Candidate make_embedding(const graph::op::Embedding&, const NodeInfo& node) {
  if (!is_graph_float(node.operands[0].dtype) || !is_graph_float(node.result.dtype))
    return fmt::format("{} to {}: takes f32, bf16, f16", to_string(node.operands[0]), to_string(node.result));
  return std::make_unique<EmbeddingKernel>(node);
}

constexpr KernelEntry<graph::op::Embedding> kEmbedding[] = {{"copy", make_embedding}};

}  // namespace

std::span<const KernelEntry<graph::op::Embedding>> kernels(const graph::op::Embedding&) { return kEmbedding; }

}  // namespace perfuse::cpu
