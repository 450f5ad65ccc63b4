// Norms and softmax at the sizes of VAE decoders, UNets, transformers and text encoders.
#include "benchmarks/memory_speed.h"
#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::bench {
namespace {

using cpu::test::Bench;
using cpu::test::random_tensor;

std::int64_t size_of_all(const std::vector<Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

template <class OpType>
void norm(benchmark::State& state, const OpType& op, DType dtype, const Shape& shape, std::size_t vectors) {
  std::vector<Tensor> operands{random_tensor(dtype, shape, 1)};
  for (std::size_t i = 0; i < vectors; ++i) operands.push_back(random_tensor(dtype, {shape.back()}, 2));
  Bench bench(op, operands);
  const auto result = static_cast<std::int64_t>(operands[0].nbytes());
  measure_memory(state, size_of_all(operands) + result, [&] { bench.run(); });
}

void group_norm(benchmark::State& state, DType dtype) {
  const auto side = state.range(0);
  norm(state, graph::op::GroupNorm{32, 1e-6}, dtype, {1, side, side, state.range(1)}, 2);
}
void layer_norm(benchmark::State& state, DType dtype) {
  norm(state, graph::op::LayerNorm{1e-6}, dtype, {1, state.range(0), state.range(1)}, 2);
}
void rms_norm(benchmark::State& state, DType dtype) {
  norm(state, graph::op::RmsNorm{}, dtype, {1, state.range(0), state.range(1)}, 1);
}
void softmax(benchmark::State& state, DType dtype) {
  norm(state, graph::op::Softmax{}, dtype, {1, state.range(0), state.range(1)}, 0);
}

void images(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"side", "C"})->UseManualTime()->Unit(benchmark::kMillisecond);
  benchmark->Args({16, 320})
      ->Args({64, 320})
      ->Args({64, 512})
      ->Args({256, 256})
      ->Args({512, 128})
      ->Args({1024, 128});
}
void rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "C"})->UseManualTime()->Unit(benchmark::kMillisecond);
  benchmark->Args({64, 384})->Args({300, 4096})->Args({1024, 1152})->Args({4096, 1152})->Args({16384, 3072});
}

BENCHMARK_CAPTURE(group_norm, f32, DType::f32)->Apply(images);
BENCHMARK_CAPTURE(group_norm, bf16, DType::bf16)->Apply(images);
BENCHMARK_CAPTURE(layer_norm, f32, DType::f32)->Apply(rows);
BENCHMARK_CAPTURE(layer_norm, bf16, DType::bf16)->Apply(rows);
BENCHMARK_CAPTURE(rms_norm, f32, DType::f32)->Apply(rows);
BENCHMARK_CAPTURE(rms_norm, bf16, DType::bf16)->Apply(rows);
BENCHMARK_CAPTURE(softmax, f32, DType::f32)->Apply(rows);
BENCHMARK_CAPTURE(softmax, bf16, DType::bf16)->Apply(rows);

}  // namespace
}  // namespace perfuse::bench
