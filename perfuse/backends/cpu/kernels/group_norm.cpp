// Group norm over NHWC: statistics block by block (a block stays in L2 for its second pass, so memory is read
// once), blocks combined in double in a fixed order, then one pass that scales and shifts.
#include <fmt/format.h>

#include <cmath>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/rows.h"
#include "perfuse/backends/cpu/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "perfuse/backends/cpu/kernels/group_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

}  // namespace

// sums[c] = Σ x[row][c]; four rows at a time, so that sums are loaded and stored a quarter as often.
void column_sums(const float* x, std::size_t rows, std::size_t channels, float* sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = channels / lanes * lanes;
  std::fill_n(sums, channels, 0.0f);
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const float *x0 = x + row * channels, *x1 = x0 + channels, *x2 = x1 + channels, *x3 = x2 + channels;
    for (std::size_t c = 0; c < whole; c += lanes) {
      const V pair0 = hn::Add(hn::LoadU(d, x0 + c), hn::LoadU(d, x1 + c));
      const V pair1 = hn::Add(hn::LoadU(d, x2 + c), hn::LoadU(d, x3 + c));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + c), hn::Add(pair0, pair1)), d, sums + c);
    }
    for (std::size_t c = whole; c < channels; ++c) sums[c] += (x0[c] + x1[c]) + (x2[c] + x3[c]);
  }
  for (; row < rows; ++row)
    for (std::size_t c = 0; c < channels; ++c) sums[c] += x[row * channels + c];
}

// sums[c] = Σ (x[row][c] − centre[c]), squares[c] = Σ (x[row][c] − centre[c])².
void column_deviations(const float* x, std::size_t rows, std::size_t channels, const float* centre,
                       float* sums, float* squares) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), whole = channels / lanes * lanes;
  std::fill_n(sums, channels, 0.0f);
  std::fill_n(squares, channels, 0.0f);
  std::size_t row = 0;
  for (; row + 4 <= rows; row += 4) {
    const float *x0 = x + row * channels, *x1 = x0 + channels, *x2 = x1 + channels, *x3 = x2 + channels;
    for (std::size_t c = 0; c < whole; c += lanes) {
      const V m = hn::LoadU(d, centre + c);
      const V d0 = hn::Sub(hn::LoadU(d, x0 + c), m), d1 = hn::Sub(hn::LoadU(d, x1 + c), m);
      const V d2 = hn::Sub(hn::LoadU(d, x2 + c), m), d3 = hn::Sub(hn::LoadU(d, x3 + c), m);
      hn::StoreU(hn::Add(hn::LoadU(d, sums + c), hn::Add(hn::Add(d0, d1), hn::Add(d2, d3))), d, sums + c);
      const V pair0 = hn::MulAdd(d0, d0, hn::Mul(d1, d1)), pair1 = hn::MulAdd(d2, d2, hn::Mul(d3, d3));
      hn::StoreU(hn::Add(hn::LoadU(d, squares + c), hn::Add(pair0, pair1)), d, squares + c);
    }
    for (std::size_t c = whole; c < channels; ++c) {
      const float m = centre[c], d0 = x0[c] - m, d1 = x1[c] - m, d2 = x2[c] - m, d3 = x3[c] - m;
      sums[c] += (d0 + d1) + (d2 + d3);
      squares[c] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
    }
  }
  for (; row < rows; ++row) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float deviation = x[row * channels + c] - centre[c];
      sums[c] += deviation;
      squares[c] += deviation * deviation;
    }
  }
}

// y[row][c] = (x[row][c] − centre[c]) · scale[c] + shift[c]; y may be x.
void scale_shift(const float* x, std::size_t rows, std::size_t channels, const float* centre,
                 const float* scale, const float* shift, float* y) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < rows; ++row, x += channels, y += channels) {
    std::size_t c = 0;
    for (; c + lanes <= channels; c += lanes) {
      const V deviation = hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, centre + c));
      hn::StoreU(hn::MulAdd(deviation, hn::LoadU(d, scale + c), hn::LoadU(d, shift + c)), d, y + c);
    }
    for (; c < channels; ++c) y[c] = (x[c] - centre[c]) * scale[c] + shift[c];
  }
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace perfuse::cpu {

HWY_EXPORT(column_sums);
HWY_EXPORT(column_deviations);
HWY_EXPORT(scale_shift);

namespace {

// Elements of a block of rows: 64 KiB of f32.
constexpr std::int64_t kStatisticsBlock = 16 * 1024;

// Mean and sum of squared deviations from it, of one group in one block.
struct Moments {
  double mean, squares;
};

class GroupNormKernel final : public Kernel {
 public:
  GroupNormKernel(const graph::op::GroupNorm& op, const NodeInfo& node)
      : eps_(op.eps),
        groups_(op.groups),
        dtype_(node.result.dtype),
        weight_(node.operands[1].dtype),
        bias_(node.operands[2].dtype),
        images_(node.result.shape.front()),
        channels_(node.result.shape.back()),
        rows_(images_ * channels_ == 0 ? 0 : node.result.numel() / (images_ * channels_)),
        block_rows_(std::max<std::int64_t>(1, kStatisticsBlock / std::max<std::int64_t>(1, channels_))),
        blocks_((rows_ + block_rows_ - 1) / block_rows_) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return 3 * channel_bytes() + static_cast<std::size_t>(images_ * blocks_ * groups_) * sizeof(Moments);
  }

  void run(const KernelArgs& args) const override {
    const Channels channels{elements<float>(args.scratch), elements<float>(args.scratch + channel_bytes()),
                            elements<float>(args.scratch + 2 * channel_bytes())};
    auto* moments = reinterpret_cast<Moments*>(args.scratch + 3 * channel_bytes());
    const auto grain =
        std::max<std::int64_t>(1, kMemoryGrain / (block_rows_ * std::max<std::int64_t>(1, channels_)));
    parallel_for(images_ * blocks_, grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> work(
          static_cast<std::size_t>(channels_ * (3 + (dtype_ == DType::f32 ? 0 : block_rows_))));
      for (auto i = begin; i < end; ++i)
        block_moments(args.operands[0], i, work.data(), moments + i * groups_);
    });
    for (std::int64_t image = 0; image < images_; ++image)
      combine(args, moments + image * blocks_ * groups_, channels.of(image, channels_));
    parallel_for(images_ * blocks_, grain, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> buffer(static_cast<std::size_t>(dtype_ == DType::f32 ? 0 : channels_ * block_rows_));
      for (auto i = begin; i < end; ++i) apply(args, i, channels, buffer.data());
    });
  }

 private:
  // What is done to each channel of each image: (x − centre) · scale + shift.
  struct Channels {
    float *centre, *scale, *shift;
    [[nodiscard]] Channels of(std::int64_t image, std::int64_t channels) const {
      return {centre + image * channels, scale + image * channels, shift + image * channels};
    }
  };

  // Rows of all images are numbered through; block i of all blocks is some rows of one image.
  struct Block {
    std::int64_t image, first, rows;
  };
  [[nodiscard]] Block block(std::int64_t i) const {
    const auto image = i / blocks_, row = i % blocks_ * block_rows_;
    return {image, image * rows_ + row, std::min(block_rows_, rows_ - row)};
  }
  [[nodiscard]] std::size_t channel_bytes() const { return scratch_for(images_ * channels_); }

  // The group's mean in f32 first, then deviations from it; their sum is what the rounded mean lacks.
  void block_moments(const std::byte* x, std::int64_t i, float* work, Moments* moments) const {
    const auto [image, first, rows] = block(i);
    float *centre = work, *sums = work + channels_, *squares = sums + channels_;
    const float* values = read_f32(dtype_, x, first * channels_, rows * channels_, squares + channels_);
    const auto row_count = static_cast<std::size_t>(rows), channels = static_cast<std::size_t>(channels_);
    HWY_DYNAMIC_DISPATCH(column_sums)(values, row_count, channels, sums);
    const auto width = channels_ / groups_;
    const auto count = static_cast<double>(rows * width);
    for (std::int64_t g = 0; g < groups_; ++g) {
      const auto mean = static_cast<float>(sum(sums + g * width, width) / count);
      std::fill_n(centre + g * width, width, mean);
    }
    HWY_DYNAMIC_DISPATCH(column_deviations)(values, row_count, channels, centre, sums, squares);
    for (std::int64_t g = 0; g < groups_; ++g) {
      const double lack = sum(sums + g * width, width) / count;
      moments[g] = {static_cast<double>(centre[g * width]) + lack,
                    sum(squares + g * width, width) - lack * lack * count};
    }
  }

  static double sum(const float* values, std::int64_t count) {
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += static_cast<double>(values[i]);
    return total;
  }

  // One image: blocks combined in order, then what each channel needs. The shift has what the mean in f32 lacks,
  // so that a group that hardly varies around a large mean keeps its digits.
  void combine(const KernelArgs& args, const Moments* moments, const Channels& to) const {
    const float* weight = read_f32(weight_, args.operands[1], 0, channels_, to.scale);
    const float* bias = read_f32(bias_, args.operands[2], 0, channels_, to.shift);
    const auto width = channels_ / groups_;
    for (std::int64_t g = 0; g < groups_; ++g) {
      const auto count_of = [&](std::int64_t b) {
        return static_cast<double>(std::min(block_rows_, rows_ - b * block_rows_) * width);
      };
      double mean = 0, squares = 0;
      for (std::int64_t b = 0; b < blocks_; ++b) mean += moments[b * groups_ + g].mean * count_of(b);
      mean /= static_cast<double>(rows_ * width);
      for (std::int64_t b = 0; b < blocks_; ++b) {
        const auto& part = moments[b * groups_ + g];
        squares += part.squares + (part.mean - mean) * (part.mean - mean) * count_of(b);
      }
      const double factor = 1.0 / std::sqrt(squares / static_cast<double>(rows_ * width) + eps_);
      const auto centre = static_cast<float>(mean);
      for (auto c = g * width; c < (g + 1) * width; ++c) {
        const double slope = factor * static_cast<double>(weight[c]);
        to.centre[c] = centre;
        to.shift[c] =
            static_cast<float>(static_cast<double>(bias[c]) - (mean - static_cast<double>(centre)) * slope);
        to.scale[c] = static_cast<float>(slope);
      }
    }
  }

  void apply(const KernelArgs& args, std::int64_t i, const Channels& channels, float* buffer) const {
    const auto [image, first, rows] = block(i);
    const auto [centre, scale, shift] = channels.of(image, channels_);
    const auto begin = first * channels_, count = rows * channels_;
    const float* x = read_f32(dtype_, args.operands[0], begin, count, buffer);
    float* y = target_f32(dtype_, args.result, begin, buffer);
    HWY_DYNAMIC_DISPATCH(scale_shift)
    (x, static_cast<std::size_t>(rows), static_cast<std::size_t>(channels_), centre, scale, shift, y);
    store_f32(dtype_, args.result, begin, count, buffer);
  }

  double eps_;
  std::int64_t groups_;
  DType dtype_, weight_, bias_;
  std::int64_t images_, channels_, rows_, block_rows_, blocks_;  // rows of one image, blocks of one image
};

Candidate make_group_norm(const graph::op::GroupNorm& op, const NodeInfo& node) {
  for (const auto& type : node.operands)
    if (!is_graph_float(type.dtype)) return fmt::format("{}: takes f32, bf16, f16", to_string(type));
  return std::make_unique<GroupNormKernel>(op, node);
}

constexpr KernelEntry<graph::op::GroupNorm> kGroupNorm[] = {{"simd", make_group_norm}};

}  // namespace

std::span<const KernelEntry<graph::op::GroupNorm>> kernels(const graph::op::GroupNorm&) { return kGroupNorm; }

}  // namespace perfuse::cpu
#endif
