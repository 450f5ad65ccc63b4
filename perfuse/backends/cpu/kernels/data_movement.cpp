// Ops that only move elements; all types alike, by element size.
#include <cstring>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/strides.h"

namespace perfuse::cpu {
namespace {

std::int64_t element_size(const graph::ValueType& type) {
  return static_cast<std::int64_t>(size_of(type.dtype));
}

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= shape[i];
  return result;
}

void copy(const std::byte* from, std::int64_t bytes, std::byte* to) {
  if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// Runs of this many bytes are what one thread should get at least.
constexpr std::int64_t kBytesGrain = 128 * 1024;

std::int64_t grain_of_runs(std::int64_t run_bytes) {
  return std::max<std::int64_t>(1, kBytesGrain / std::max<std::int64_t>(1, run_bytes));
}

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(std::int64_t bytes) : bytes_(bytes) {}
  void run(const KernelArgs& args) const override {
    parallel_for(bytes_, kBytesGrain, [&](std::int64_t begin, std::int64_t end) {
      copy(args.operands[0] + begin, end - begin, args.result + begin);
    });
  }

 private:
  std::int64_t bytes_;
};

// Result = for each of the runs (outer dimensions), `run_bytes` of x from `step_bytes` apart.
class SliceKernel final : public Kernel {
 public:
  SliceKernel(const graph::op::Slice& op, const NodeInfo& node) {
    const auto& shape = node.operands[0].shape;
    const auto axis = static_cast<std::size_t>(op.axis);
    const auto inner = product(shape, axis + 1, shape.size()) * element_size(node.result);
    runs_ = product(shape, 0, axis);
    first_ = op.begin * inner;
    step_ = shape[axis] * inner;
    bytes_ = (op.end - op.begin) * inner;
  }
  void run(const KernelArgs& args) const override {
    if (runs_ == 1) {
      return parallel_for(bytes_, kBytesGrain, [&](std::int64_t begin, std::int64_t end) {
        copy(args.operands[0] + first_ + begin, end - begin, args.result + begin);
      });
    }
    parallel_for(runs_, grain_of_runs(bytes_), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i)
        copy(args.operands[0] + first_ + i * step_, bytes_, args.result + i * bytes_);
    });
  }

 private:
  std::int64_t runs_, first_, step_, bytes_;
};

class ConcatKernel final : public Kernel {
 public:
  ConcatKernel(const graph::op::Concat& op, const NodeInfo& node) {
    const auto& shape = node.result.shape;
    const auto axis = static_cast<std::size_t>(op.axis);
    const auto inner = product(shape, axis + 1, shape.size()) * element_size(node.result);
    runs_ = product(shape, 0, axis);
    step_ = shape[axis] * inner;
    for (const auto& part : node.operands) bytes_.push_back(part.shape[axis] * inner);
  }
  void run(const KernelArgs& args) const override {
    if (runs_ == 1) {
      std::byte* to = args.result;
      for (std::size_t p = 0; p < bytes_.size(); to += bytes_[p], ++p) {
        parallel_for(bytes_[p], kBytesGrain, [&](std::int64_t begin, std::int64_t end) {
          copy(args.operands[p] + begin, end - begin, to + begin);
        });
      }
      return;
    }
    parallel_for(runs_, grain_of_runs(step_), [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) {
        std::byte* to = args.result + i * step_;
        for (std::size_t p = 0; p < bytes_.size(); to += bytes_[p], ++p)
          copy(args.operands[p] + i * bytes_[p], bytes_[p], to);
      }
    });
  }

 private:
  std::int64_t runs_, step_;
  std::vector<std::int64_t> bytes_;  // of one run, by operand
};

// A result whose loops (outermost first) step through x at any stride, 0 among them: transpose and broadcast.
// T is an unsigned integer of the element's size.
template <class T> class StridedKernel final : public Kernel {
 public:
  StridedKernel(std::vector<Loop<1>> loops, std::int64_t count) : loops_(std::move(loops)), count_(count) {
    // The loop that walks x element by element, where the innermost does not: the two are done in tiles.
    if (loops_.back().steps[0] > 1)
      for (std::size_t i = 0; i + 1 < loops_.size(); ++i)
        if (loops_[i].steps[0] == 1) unit_ = static_cast<int>(i);
  }

  void run(const KernelArgs& args) const override {
    const T* x = elements<T>(args.operands[0]);
    T* y = elements<T>(args.result);
    if (unit_ >= 0) return run_tiled(x, y);
    const auto step = loops_.back().steps[0];
    parallel_for(count_, kBytesGrain / static_cast<std::int64_t>(sizeof(T)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for_each_run(loops_, begin, end,
                                [&](std::int64_t position, const auto& offsets, std::int64_t count) {
                                  const T* from = x + offsets[0];
                                  if (step == 1)
                                    std::copy_n(from, count, y + position);
                                  else if (step == 0)
                                    std::fill_n(y + position, count, *from);
                                  else
                                    for (std::int64_t i = 0; i < count; ++i) y[position + i] = from[i * step];
                                });
                 });
  }

 private:
  // Tiles of 32 × 32: both sides of the transposition then use whole cache lines.
  static constexpr std::int64_t kTile = 32;

  void run_tiled(const T* x, T* y) const {
    const auto unit = static_cast<std::size_t>(unit_);
    const auto& inner = loops_.back();
    const auto width = loops_[unit].size;
    std::int64_t unit_stride = 1;  // of the result along the unit loop
    for (std::size_t i = unit + 1; i < loops_.size(); ++i) unit_stride *= loops_[i].size;
    const auto strips = (width + kTile - 1) / kTile;
    std::int64_t others = 1;  // positions of the remaining loops
    for (std::size_t i = 0; i + 1 < loops_.size(); ++i)
      if (i != unit) others *= loops_[i].size;
    const auto strip_bytes = kTile * inner.size * static_cast<std::int64_t>(sizeof(T));
    parallel_for(others * strips, grain_of_runs(strip_bytes), [&](std::int64_t begin, std::int64_t end) {
      for (auto task = begin; task < end; ++task) {
        std::int64_t rest = task / strips, from = 0, to = 0, stride = inner.size;
        for (std::size_t i = loops_.size() - 1; i-- > 0; stride *= loops_[i].size) {
          if (i == unit) continue;
          const auto index = rest % loops_[i].size;
          rest /= loops_[i].size;
          from += index * loops_[i].steps[0];
          to += index * stride;
        }
        const auto u0 = task % strips * kTile, u1 = std::min(width, u0 + kTile);
        for (std::int64_t v0 = 0; v0 < inner.size; v0 += kTile) {
          const auto v1 = std::min(inner.size, v0 + kTile);
          for (auto u = u0; u < u1; ++u)
            for (auto v = v0; v < v1; ++v) y[to + u * unit_stride + v] = x[from + u + v * inner.steps[0]];
        }
      }
    });
  }

  std::vector<Loop<1>> loops_;
  std::int64_t count_;
  int unit_ = -1;
};

Candidate strided(std::vector<Loop<1>> loops, const NodeInfo& node) {
  const auto count = node.result.numel();
  if (loops.size() == 1 && loops[0].steps[0] == 1)
    return std::make_unique<CopyKernel>(static_cast<std::int64_t>(node.result.bytes()));
  switch (size_of(node.result.dtype)) {
    case 1: return std::make_unique<StridedKernel<std::uint8_t>>(std::move(loops), count);
    case 2: return std::make_unique<StridedKernel<std::uint16_t>>(std::move(loops), count);
    case 4: return std::make_unique<StridedKernel<std::uint32_t>>(std::move(loops), count);
    default: return std::make_unique<StridedKernel<std::uint64_t>>(std::move(loops), count);
  }
}

class UpsampleKernel final : public Kernel {
 public:
  explicit UpsampleKernel(const NodeInfo& node)
      : in_height_(node.operands[0].shape[1]),
        in_width_(node.operands[0].shape[2]),
        height_(node.result.shape[1]),
        width_(node.result.shape[2]),
        rows_(node.result.shape[0] * height_),
        pixel_(node.result.shape[3] * element_size(node.result)) {}

  void run(const KernelArgs& args) const override {
    const auto row_bytes = width_ * pixel_;
    parallel_for(rows_, grain_of_runs(row_bytes), [&](std::int64_t begin, std::int64_t end) {
      for (auto row = begin; row < end; ++row) {
        std::byte* to = args.result + row * row_bytes;
        if (row > begin && source_row(row) == source_row(row - 1)) {
          copy(to - row_bytes, row_bytes, to);
          continue;
        }
        const std::byte* from = args.operands[0] + source_row(row) * in_width_ * pixel_;
        for (std::int64_t i = 0; i < width_; ++i)
          copy(from + i * in_width_ / width_ * pixel_, pixel_, to + i * pixel_);
      }
    });
  }

 private:
  [[nodiscard]] std::int64_t source_row(std::int64_t row) const {
    return row / height_ * in_height_ + row % height_ * in_height_ / height_;
  }
  std::int64_t in_height_, in_width_, height_, width_, rows_, pixel_;
};

Candidate make_reshape(const graph::op::Reshape&, const NodeInfo& node) {
  return std::make_unique<CopyKernel>(static_cast<std::int64_t>(node.result.bytes()));
}

Candidate make_transpose(const graph::op::Transpose& op, const NodeInfo& node) {
  const auto& x = node.operands[0].shape;
  std::vector<std::int64_t> strides;
  for (const int axis : op.axes) strides.push_back(product(x, static_cast<std::size_t>(axis) + 1, x.size()));
  return strided(merge_loops<1>(node.result.shape, {strides}), node);
}

Candidate make_broadcast(const graph::op::Broadcast&, const NodeInfo& node) {
  const auto& shape = node.result.shape;
  return strided(merge_loops<1>(shape, {broadcast_strides(node.operands[0].shape, shape)}), node);
}

Candidate make_concat(const graph::op::Concat& op, const NodeInfo& node) {
  return std::make_unique<ConcatKernel>(op, node);
}
Candidate make_slice(const graph::op::Slice& op, const NodeInfo& node) {
  return std::make_unique<SliceKernel>(op, node);
}
Candidate make_upsample(const graph::op::UpsampleNearest&, const NodeInfo& node) {
  return std::make_unique<UpsampleKernel>(node);
}

constexpr KernelEntry<graph::op::Reshape> kReshape[] = {{"copy", make_reshape}};
constexpr KernelEntry<graph::op::Transpose> kTranspose[] = {{"strided", make_transpose}};
constexpr KernelEntry<graph::op::Broadcast> kBroadcast[] = {{"strided", make_broadcast}};
constexpr KernelEntry<graph::op::Concat> kConcat[] = {{"copy", make_concat}};
constexpr KernelEntry<graph::op::Slice> kSlice[] = {{"copy", make_slice}};
constexpr KernelEntry<graph::op::UpsampleNearest> kUpsample[] = {{"copy", make_upsample}};

}  // namespace

std::span<const KernelEntry<graph::op::Reshape>> kernels(const graph::op::Reshape&) { return kReshape; }
std::span<const KernelEntry<graph::op::Transpose>> kernels(const graph::op::Transpose&) { return kTranspose; }
std::span<const KernelEntry<graph::op::Broadcast>> kernels(const graph::op::Broadcast&) { return kBroadcast; }
std::span<const KernelEntry<graph::op::Concat>> kernels(const graph::op::Concat&) { return kConcat; }
std::span<const KernelEntry<graph::op::Slice>> kernels(const graph::op::Slice&) { return kSlice; }
std::span<const KernelEntry<graph::op::UpsampleNearest>> kernels(const graph::op::UpsampleNearest&) {
  return kUpsample;
}

}  // namespace perfuse::cpu
