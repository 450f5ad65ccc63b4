// conv2d as U-Nets and the VAE have it.
#include "benchmarks/sgemm_peak.h"
#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::bench {
namespace {

using cpu::test::Bench;
using cpu::test::random_tensor;

// `parameter`: prepared once in the layout of the kernel; else weights come row by row and are moved at each run.
void conv2d(benchmark::State& state, DType x, DType weight, bool parameter) {
  const auto size = state.range(0), inputs = state.range(1), outputs = state.range(2),
             kernel = state.range(3);
  const auto stride = state.range(4), pad = kernel / 2;
  const graph::op::Conv2d op{
      .stride = stride, .pad_top = pad, .pad_bottom = pad, .pad_left = pad, .pad_right = pad, .groups = 1};
  Bench bench(
      op,
      {random_tensor(x, {1, size, size, inputs}, 1),
       random_tensor(weight, {outputs, kernel, kernel, inputs}, 2), random_tensor(weight, {outputs}, 3)},
      parameter ? 1 : 9);
  const auto out = static_cast<double>((size + 2 * pad - kernel) / stride + 1);
  state.SetLabel(std::string(bench.name()));
  measure(state, 2.0 * out * out * static_cast<double>(inputs * outputs * kernel * kernel),
          [&] { bench.run(); });
}

void shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"HW", "C", "O", "k", "stride"})->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const auto& [size, inputs, outputs, kernel, stride] : {std::array<std::int64_t, 5>{16, 4, 64, 3, 1},
                                                              {64, 4, 320, 3, 1},
                                                              {64, 320, 320, 3, 1},
                                                              {65, 320, 320, 3, 2},
                                                              {32, 640, 640, 3, 1},
                                                              {32, 1280, 1280, 3, 1},
                                                              {64, 320, 640, 1, 1},
                                                              {64, 512, 512, 3, 1},
                                                              {256, 256, 256, 3, 1},
                                                              {256, 128, 3, 3, 1}})
    benchmark->Args({size, inputs, outputs, kernel, stride});
}

BENCHMARK_CAPTURE(conv2d, f32, DType::f32, DType::f32, true)->Apply(shapes);
BENCHMARK_CAPTURE(conv2d, f32_moved, DType::f32, DType::f32, false)->Apply(shapes);
BENCHMARK_CAPTURE(conv2d, f32_weights_bf16, DType::f32, DType::bf16, true)->Apply(shapes);
BENCHMARK_CAPTURE(conv2d, bf16, DType::bf16, DType::bf16, true)->Apply(shapes);
BENCHMARK_CAPTURE(conv2d, f16, DType::f16, DType::f16, true)->Apply(shapes);

}  // namespace
}  // namespace perfuse::bench
