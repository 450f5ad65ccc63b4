// linear as the models have it: PixArt's and SDXL's transformers, T5's feed-forward, time embeddings.
#include "benchmarks/sgemm_peak.h"
#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::bench {
namespace {

using cpu::test::Bench;
using cpu::test::random_tensor;

void linear(benchmark::State& state, DType x, DType weight, const char* kernel) {
  const auto m = state.range(0), k = state.range(1), n = state.range(2);
  Bench bench(graph::op::Linear{},
              {random_tensor(x, {m, k}, 1), random_tensor(weight, {n, k}, 2), random_tensor(weight, {n}, 3)},
              1, kernel);
  if (bench.kernel() == nullptr) return state.SkipWithError(bench.refusal().c_str());
  state.SetLabel(std::string(bench.name()));
  measure(state, 2.0 * static_cast<double>(m * k * n), [&] { bench.run(); });
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"M", "K", "N"})->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{2, 1152, 6912},
                                {64, 1152, 1152},
                                {128, 1152, 1152},
                                {300, 4096, 10240},
                                {1024, 1152, 1152},
                                {1024, 1152, 4608},
                                {4096, 1152, 1152},
                                {4096, 640, 5120}})
    benchmark->Args({m, k, n});
}

BENCHMARK_CAPTURE(linear, f32, DType::f32, DType::f32, "")->Apply(shapes);
BENCHMARK_CAPTURE(linear, f32_panels, DType::f32, DType::f32, "panels")->Apply(shapes);
BENCHMARK_CAPTURE(linear, f32_weights_bf16, DType::f32, DType::bf16, "")->Apply(shapes);
BENCHMARK_CAPTURE(linear, f32_weights_f16, DType::f32, DType::f16, "")->Apply(shapes);
BENCHMARK_CAPTURE(linear, bf16, DType::bf16, DType::bf16, "")->Apply(shapes);
BENCHMARK_CAPTURE(linear, bf16_panels, DType::bf16, DType::bf16, "panels")->Apply(shapes);
BENCHMARK_CAPTURE(linear, f16, DType::f16, DType::f16, "")->Apply(shapes);

}  // namespace
}  // namespace perfuse::bench
