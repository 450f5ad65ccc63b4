#include <cmath>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"

namespace perfuse::cpu {
namespace {

class TimestepEmbeddingKernel final : public Kernel {
 public:
  TimestepEmbeddingKernel(const graph::op::TimestepEmbedding& op, const NodeInfo& node)
      : count_(node.operands[0].numel()),
        cosine_first_(op.flip_sin_to_cos),
        frequencies_(graph::timestep_frequencies(op)) {}

  void run(const KernelArgs& args) const override {
    const auto* t = elements<float>(args.operands[0]);
    const auto half = frequencies_.size();
    for (std::int64_t n = 0; n < count_; ++n) {
      float* first = elements<float>(args.result) + static_cast<std::size_t>(n) * 2 * half;
      float* cosines = cosine_first_ ? first : first + half;
      float* sines = cosine_first_ ? first + half : first;
      for (std::size_t i = 0; i < half; ++i) {
        const auto argument = static_cast<double>(t[n] * frequencies_[i]);
        cosines[i] = static_cast<float>(std::cos(argument));
        sines[i] = static_cast<float>(std::sin(argument));
      }
    }
  }

 private:
  std::int64_t count_;
  bool cosine_first_;
  std::vector<float> frequencies_;
};

Candidate make_timestep_embedding(const graph::op::TimestepEmbedding& op, const NodeInfo& node) {
  return std::make_unique<TimestepEmbeddingKernel>(op, node);
}

constexpr KernelEntry<graph::op::TimestepEmbedding> kTimestepEmbedding[] = {
    {"scalar", make_timestep_embedding}};

}  // namespace

std::span<const KernelEntry<graph::op::TimestepEmbedding>> kernels(const graph::op::TimestepEmbedding&) {
  return kTimestepEmbedding;
}

}  // namespace perfuse::cpu
