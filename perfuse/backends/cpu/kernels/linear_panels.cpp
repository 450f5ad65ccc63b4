// linear of any types, in f32: weights are converted a panel of output columns at a time and multiplied while
// they are in the cache; so are x and y where they are not f32.
#include <algorithm>

#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/linear.h"
#include "perfuse/backends/cpu/onednn.h"
#include "perfuse/backends/cpu/scratch.h"
#include "perfuse/core/error.h"

namespace perfuse::cpu {
namespace {

// A converted panel of weights: half of a core's share of the usual L3, and wide enough (≥ 64 columns) that packing
// x anew for each panel costs little.
constexpr std::int64_t kPanelFloats = std::int64_t{1} << 20;
// Rows of x converted at once. A panel of weights is converted again for each such chunk, 1/1024 of its products.
constexpr std::int64_t kMostRows = 1024;
constexpr std::int64_t kColumns = 64;

class PanelLinear final : public Kernel {
 public:
  explicit PanelLinear(const LinearNode& node) : node_(node) {
    const bool all_rows = node.x == DType::f32 && node.result == DType::f32;
    rows_ = all_rows ? node.m : std::min(node.m, kMostRows);
    const auto fitting = kPanelFloats / std::max<std::int64_t>(node.k, 1) / kColumns * kColumns;
    columns_ = node.weight == DType::f32 && node.result == DType::f32
                   ? node.n
                   : std::min(node.n, std::max(fitting, kColumns));
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    ScratchLayout scratch;
    x_ = scratch.add(node.x == DType::f32 ? 0 : floats(rows_ * node.k));
    weight_ = scratch.add(node.weight == DType::f32 ? 0 : floats(columns_ * node.k));
    result_ = scratch.add(node.result == DType::f32 ? 0 : floats(rows_ * columns_));
    bias_ = scratch.add(node.bias && *node.bias != DType::f32 ? floats(node.n) : 0);
    scratch_bytes_ = scratch.bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const KernelArgs& args) const override {
    const float* bias = nullptr;
    if (node_.bias)
      bias = read_f32(*node_.bias, args.operands[2], 0, node_.n, elements<float>(args.scratch + bias_));
    for (std::int64_t row = 0; row < node_.m; row += rows_) {
      const auto rows = std::min(rows_, node_.m - row);
      const float* x = converted(node_.x, args.operands[0], row, rows, elements<float>(args.scratch + x_));
      for (std::int64_t column = 0; column < node_.n; column += columns_) {
        const auto columns = std::min(columns_, node_.n - column);
        const float* weight = converted(node_.weight, args.operands[1], column, columns,
                                        elements<float>(args.scratch + weight_));
        multiply(args, bias, x, row, rows, weight, column, columns);
      }
    }
  }

 private:
  // `count` rows of K elements from row `begin` on, as f32.
  const float* converted(DType type, const std::byte* rows, std::int64_t begin, std::int64_t count,
                         float* buffer) const {
    if (type == DType::f32) return elements<float>(rows) + begin * node_.k;
    const auto from = rows + begin * node_.k * static_cast<std::int64_t>(size_of(type));
    const auto row_bytes = node_.k * static_cast<std::int64_t>(size_of(type));
    const auto grain = std::max<std::int64_t>(1, kMemoryGrain / std::max<std::int64_t>(node_.k, 1));
    parallel_for(count, grain, [&](std::int64_t first, std::int64_t last) {
      to_f32(type, from + first * row_bytes, (last - first) * node_.k, buffer + first * node_.k);
    });
    return buffer;
  }

  void multiply(const KernelArgs& args, const float* bias, const float* x, std::int64_t row,
                std::int64_t rows, const float* weight, std::int64_t column, std::int64_t columns) const {
    const bool direct = node_.result == DType::f32;
    float* product = direct ? elements<float>(args.result) + row * node_.n + column
                            : elements<float>(args.scratch + result_);
    const auto stride = direct ? node_.n : columns;
    const auto inner =
        std::max<std::int64_t>(node_.k, 1);  // an empty sum: K = 0, whose stride must be 1 at least
    const auto status =
        dnnl_sgemm('N', 'T', rows, columns, node_.k, 1.0f, x, inner, weight, inner, 0.0f, product, stride);
    if (status != dnnl_success)
      fail(status == dnnl_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::device,
           "oneDNN: a product of [{}, {}] and [{}, {}] failed", rows, node_.k, columns, node_.k);
    if (direct && bias == nullptr) return;
    const auto element = static_cast<std::int64_t>(size_of(node_.result));
    parallel_for(
        rows, std::max<std::int64_t>(1, kMemoryGrain / columns), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            float* values = product + i * stride;
            if (bias != nullptr)
              for (std::int64_t j = 0; j < columns; ++j) values[j] += bias[column + j];
            if (!direct)
              from_f32(values, columns, node_.result, args.result + ((row + i) * node_.n + column) * element);
          }
        });
  }

  LinearNode node_;
  std::int64_t rows_ = 0, columns_ = 0;
  std::size_t x_ = 0, weight_ = 0, result_ = 0, bias_ = 0, scratch_bytes_ = 0;
};

}  // namespace

Candidate make_linear_panels(const graph::op::Linear&, const NodeInfo& info) {
  return std::make_unique<PanelLinear>(linear_node(info));
}

}  // namespace perfuse::cpu
