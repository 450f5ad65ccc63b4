// Elementwise ops, conversions, scheduler steps and data movement.
#include "benchmarks/memory_speed.h"
#include "tests/backends_cpu/heavy_kernels.h"

namespace perfuse::bench {
namespace {

namespace op = graph::op;
using cpu::test::Bench;
using cpu::test::random_tensor;

template <class OpType>
void measure_op(benchmark::State& state, const OpType& op, const std::vector<Tensor>& operands) {
  std::vector<graph::ValueType> types;
  std::int64_t bytes = 0;
  for (const auto& tensor : operands) {
    types.push_back({tensor.dtype(), tensor.shape()});
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  bytes += static_cast<std::int64_t>(graph::infer(op, types).bytes());
  Bench bench(op, operands);
  measure_memory(state, bytes, [&] { bench.run(); });
}

void unary(benchmark::State& state, op::UnaryKind kind, DType dtype) {
  measure_op(state, op::Unary{kind}, {random_tensor(dtype, {state.range(0)}, 1)});
}
void binary(benchmark::State& state, DType dtype, const Shape& a, const Shape& b) {
  measure_op(state, op::Binary{op::BinaryKind::add},
             {random_tensor(dtype, a, 1), random_tensor(dtype, b, 2)});
}
void convert(benchmark::State& state, DType from, DType to) {
  measure_op(state, op::Convert{to}, {random_tensor(from, {state.range(0)}, 1)});
}
void linear_combination(benchmark::State& state) {
  std::vector<Tensor> operands{random_tensor(DType::f32, {3}, 1)};
  for (unsigned i = 0; i < 3; ++i) operands.push_back(random_tensor(DType::f32, {state.range(0)}, i));
  measure_op(state, op::LinearCombination{}, operands);
}
void transpose(benchmark::State& state, DType dtype, const Shape& shape, const std::vector<int>& axes) {
  measure_op(state, op::Transpose{axes}, {random_tensor(dtype, shape, 1)});
}
void upsample(benchmark::State& state, DType dtype) {
  measure_op(state, op::UpsampleNearest{512, 512}, {random_tensor(dtype, {1, 256, 256, 128}, 1)});
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("elements")->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t count : {1 << 12, 1 << 18, 1 << 24}) benchmark->Arg(count);
}
void once(benchmark::internal::Benchmark* benchmark) {
  benchmark->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(unary, silu_f32, op::UnaryKind::silu, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, silu_bf16, op::UnaryKind::silu, DType::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(unary, gelu_f32, op::UnaryKind::gelu, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, gelu_tanh_f32, op::UnaryKind::gelu_tanh, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(unary, tanh_f32, op::UnaryKind::tanh, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(binary, same_f32, DType::f32, {4096, 4096}, {4096, 4096})->Apply(once);
BENCHMARK_CAPTURE(binary, same_bf16, DType::bf16, {4096, 4096}, {4096, 4096})->Apply(once);
BENCHMARK_CAPTURE(binary, row_f32, DType::f32, {4096, 4096}, {4096})->Apply(once);
BENCHMARK_CAPTURE(binary, image_rows_f32, DType::f32, {2, 4096, 1152}, {2, 1, 1152})->Apply(once);
BENCHMARK_CAPTURE(binary, scalar_f32, DType::f32, {4096, 4096}, {})->Apply(once);
BENCHMARK_CAPTURE(convert, bf16_to_f32, DType::bf16, DType::f32)->Apply(sizes);
BENCHMARK_CAPTURE(convert, f32_to_bf16, DType::f32, DType::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(convert, f32_to_f16, DType::f32, DType::f16)->Apply(sizes);
BENCHMARK(linear_combination)->Apply(sizes);
BENCHMARK_CAPTURE(transpose, to_nchw_f32, DType::f32, {1, 512, 512, 128}, {0, 3, 1, 2})->Apply(once);
BENCHMARK_CAPTURE(transpose, heads_bf16, DType::bf16, {2, 4096, 16, 72}, {0, 2, 1, 3})->Apply(once);
BENCHMARK_CAPTURE(transpose, unpatchify_f32, DType::f32, {2, 64, 64, 2, 2, 8}, {0, 1, 3, 2, 4, 5})
    ->Apply(once);
BENCHMARK_CAPTURE(upsample, f32, DType::f32)->Apply(once);

}  // namespace
}  // namespace perfuse::bench
