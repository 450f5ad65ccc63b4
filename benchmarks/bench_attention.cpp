// attention as transformers, U-Nets, text encoders and the VAE's middle block have it.
#include "benchmarks/sgemm_peak.h"
#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::bench {
namespace {

using cpu::test::Bench;
using cpu::test::random_tensor;

enum class Bias { none, per_key, full };

void attention(benchmark::State& state, DType type, Bias bias) {
  const auto queries = state.range(0), keys = state.range(1), heads = state.range(2), depth = state.range(3);
  std::vector<Tensor> operands{random_tensor(type, {1, queries, heads, depth}, 1),
                               random_tensor(type, {1, keys, heads, depth}, 2),
                               random_tensor(type, {1, keys, heads, depth}, 3)};
  if (bias == Bias::per_key) operands.push_back(random_tensor(type, {1, 1, 1, keys}, 4));
  if (bias == Bias::full) operands.push_back(random_tensor(type, {1, heads, queries, keys}, 4));
  const graph::op::Attention op{.scale = 1 / std::sqrt(static_cast<double>(depth)), .causal = false};
  Bench bench(op, operands, 9);
  state.SetLabel(std::string(bench.name()));
  measure(state, 4.0 * static_cast<double>(queries * keys * heads * depth), [&] { bench.run(); });
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"S", "T", "H", "D"})->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const auto& [queries, keys, heads, depth] : {std::array<std::int64_t, 4>{64, 64, 8, 32},
                                                    {77, 77, 12, 64},
                                                    {300, 300, 64, 64},
                                                    {1024, 1024, 16, 72},
                                                    {1024, 300, 16, 72},
                                                    {4096, 77, 10, 64},
                                                    {4096, 4096, 10, 64},
                                                    {2048, 2048, 8, 128},
                                                    {1024, 1024, 1, 512}})
    benchmark->Args({queries, keys, heads, depth});
}

BENCHMARK_CAPTURE(attention, f32, DType::f32, Bias::none)->Apply(shapes);
BENCHMARK_CAPTURE(attention, f32_masked, DType::f32, Bias::per_key)->Apply(shapes);
BENCHMARK_CAPTURE(attention, f32_bias, DType::f32, Bias::full)->Apply(shapes);
BENCHMARK_CAPTURE(attention, bf16, DType::bf16, Bias::none)->Apply(shapes);

}  // namespace
}  // namespace perfuse::bench
