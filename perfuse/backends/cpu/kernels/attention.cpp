// attention in blocks of queries and tiles of keys with a running softmax: the scores are never held whole.
// Parallel over batch, heads and blocks of queries; the arithmetic is in attention_tile.h.
//
// A query whose keys are all at the same finite value (masked by −10000 or the least float) gives their mean.
#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <optional>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/backends/cpu/kernels/attention_tile.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/scratch.h"

namespace perfuse::cpu {
namespace {

// Queries that share one conversion of a tile of keys and values.
constexpr std::int64_t kBlockQueries = 128;
// Keys of a tile: scores of one panel (256 × 64 floats) and a tile of keys or values (≤ 128 KiB) fit in L2 together.
constexpr std::int64_t kMostTileKeys = 256, kLeastTileKeys = 32, kTileFloats = 32'768;

struct AttentionNode {
  std::int64_t batch, queries, heads, depth, keys, key_heads;
  DType dtype;
  std::optional<graph::ValueType> bias;
  graph::op::Attention op;
};

class TiledAttention final : public Kernel {
 public:
  explicit TiledAttention(const AttentionNode& node)
      : node_(node), shape_(panel_shape()), workers_(num_threads()) {
    tile_keys_ = std::clamp(kTileFloats / std::max<std::int64_t>(node.depth, 1) / 16 * 16, kLeastTileKeys,
                            kMostTileKeys);
    tile_keys_ = std::min(tile_keys_, std::max<std::int64_t>(node.keys, 1));
    blocks_ = (node.queries + kBlockQueries - 1) / kBlockQueries;
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    ScratchLayout scratch;
    rows_ = scratch.add(floats(kMostPanelQueries * std::max(node.depth, tile_keys_)));
    keys_ = scratch.add(floats(tile_keys_ * node.depth));
    values_ = scratch.add(floats(tile_keys_ * node.depth));
    scores_ = scratch.add(floats(tile_keys_ * kMostPanelQueries));
    bias_ = scratch.add(node.bias ? floats(tile_keys_ * kMostPanelQueries) : 0);
    queries_ = scratch.add(floats(kBlockQueries * node.depth));
    output_ = scratch.add(floats(kBlockQueries * node.depth));
    most_ = scratch.add(floats(kBlockQueries));
    sum_ = scratch.add(floats(kBlockQueries));
    worker_bytes_ = scratch.bytes();
  }

  std::size_t scratch_bytes() const override { return worker_bytes_ * static_cast<std::size_t>(workers_); }

  void run(const KernelArgs& args) const override {
    const auto tasks = node_.batch * node_.heads * blocks_;
    // Tasks are taken as workers get free; each writes its own part of the result, so bytes don't depend on that.
    std::atomic<std::int64_t> next{0};
    parallel_for(std::min<std::int64_t>(workers_, tasks), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto worker = begin; worker < end; ++worker) {
        std::byte* const scratch = args.scratch + static_cast<std::size_t>(worker) * worker_bytes_;
        for (auto task = next.fetch_add(1); task < tasks; task = next.fetch_add(1))
          run_block(args, scratch, task / blocks_ / node_.heads, task / blocks_ % node_.heads,
                    task % blocks_ * kBlockQueries);
      }
    });
  }

 private:
  // One panel of a block, as offsets: `first` query (of the block), padded to whole vectors.
  struct Panel {
    std::int64_t first, vectors, queries;
  };

  [[nodiscard]] std::vector<Panel> panels(std::int64_t count) const {
    std::vector<Panel> result;
    const auto full = shape_.lanes * shape_.vectors;
    for (std::int64_t first = 0; first < count; first += full) {
      const auto queries = std::min(full, count - first);
      result.push_back({first, (queries + shape_.lanes - 1) / shape_.lanes, queries});
    }
    return result;
  }

  void run_block(const KernelArgs& args, std::byte* scratch, std::int64_t batch, std::int64_t head,
                 std::int64_t first) const {
    const auto count = std::min(kBlockQueries, node_.queries - first);
    const auto depth = node_.depth;
    const auto block = panels(count);
    // Also for the columns of the last vector that hold no query.
    const auto padded = (count + shape_.lanes - 1) / shape_.lanes * shape_.lanes;
    std::fill_n(elements<float>(scratch + queries_), padded * depth, 0.0f);
    std::fill_n(elements<float>(scratch + output_), padded * depth, 0.0f);
    std::fill_n(elements<float>(scratch + most_), padded, -FLT_MAX);
    std::fill_n(elements<float>(scratch + sum_), padded, 0.0f);
    for (const auto& panel : block) load_queries(args, scratch, batch, head, first, panel);

    // Causal: position s sees t ≤ s + (T − S).
    const auto visible = node_.op.causal ? node_.keys - node_.queries + first : node_.keys;
    const auto last_key =
        node_.op.causal ? std::clamp<std::int64_t>(visible + count, 0, node_.keys) : node_.keys;
    for (std::int64_t key = 0; key < last_key; key += tile_keys_) {
      AttentionTile tile{.depth = depth,
                         .count = std::min(tile_keys_, last_key - key),
                         .keys = nullptr,
                         .values = nullptr,
                         .bias = nullptr,
                         .bias_width = 1,
                         .visible = 0};
      tile.keys = load_rows(args.operands[1], batch, head, key, tile.count, elements<float>(scratch + keys_));
      tile.values =
          load_rows(args.operands[2], batch, head, key, tile.count, elements<float>(scratch + values_));
      for (const auto& panel : block) {
        if (node_.bias) load_bias(args, scratch, batch, head, first + panel.first, panel, key, tile);
        tile.visible = visible + panel.first - key;
        add_tile(columns_of(scratch, panel), tile);
      }
    }
    for (const auto& panel : block) store_output(args, scratch, batch, head, first, panel);
  }

  [[nodiscard]] AttentionPanel columns_of(std::byte* scratch, const Panel& panel) const {
    return {.vectors = panel.vectors,
            .queries = elements<float>(scratch + queries_) + panel.first * node_.depth,
            .scores = elements<float>(scratch + scores_),
            .output = elements<float>(scratch + output_) + panel.first * node_.depth,
            .most = elements<float>(scratch + most_) + panel.first,
            .sum = elements<float>(scratch + sum_) + panel.first};
  }

  // Position of a query's first element in q and in the result.
  [[nodiscard]] std::int64_t query_at(std::int64_t batch, std::int64_t query, std::int64_t head) const {
    return ((batch * node_.queries + query) * node_.heads + head) * node_.depth;
  }

  // Rows of f32 in memory.
  struct Rows {
    const float* data;
    std::int64_t stride;
  };

  // `count` rows of `length` elements, `step` apart from element `begin` on: where they lie, or converted.
  static Rows read_rows(DType type, const std::byte* tensor, std::int64_t begin, std::int64_t step,
                        std::int64_t count, std::int64_t length, float* buffer) {
    if (type == DType::f32) return {elements<float>(tensor) + begin, step};
    const auto element = static_cast<std::int64_t>(size_of(type));
    for (std::int64_t i = 0; i < count; ++i)
      to_f32(type, tensor + (begin + i * step) * element, length, buffer + i * length);
    return {buffer, length};
  }

  // [B, S, H, D] → the panel's columns, times the scale.
  void load_queries(const KernelArgs& args, std::byte* scratch, std::int64_t batch, std::int64_t head,
                    std::int64_t first, const Panel& panel) const {
    const auto depth = node_.depth, width = panel.vectors * shape_.lanes;
    const auto rows = read_rows(node_.dtype, args.operands[0], query_at(batch, first + panel.first, head),
                                node_.heads * depth, panel.queries, depth, elements<float>(scratch + rows_));
    transpose(rows.data, rows.stride, panel.queries, depth, static_cast<float>(node_.op.scale),
              elements<float>(scratch + queries_) + panel.first * depth, width);
  }

  // Rows of keys or values, one after the other as f32.
  const float* load_rows(const std::byte* rows, std::int64_t batch, std::int64_t head, std::int64_t key,
                         std::int64_t count, float* to) const {
    const auto key_head = head / (node_.heads / node_.key_heads);
    for (std::int64_t t = 0; t < count; ++t) {
      const auto position = ((batch * node_.keys + key + t) * node_.key_heads + key_head) * node_.depth;
      float* const row = to + t * node_.depth;
      const float* from = read_f32(node_.dtype, rows, position, node_.depth, row);
      if (from != row) std::copy_n(from, node_.depth, row);
    }
    return to;
  }

  // bias[1|B, 1|H, 1|S, T] → one value a key, or transposed to the panel's columns.
  void load_bias(const KernelArgs& args, std::byte* scratch, std::int64_t batch, std::int64_t head,
                 std::int64_t query, const Panel& panel, std::int64_t key, AttentionTile& tile) const {
    const auto& shape = node_.bias->shape;
    const auto heads = shape[1], queries = shape[2];
    const auto row_of = [&](std::int64_t s) {
      return (((shape[0] == 1 ? 0 : batch) * heads + (heads == 1 ? 0 : head)) * queries + s) * node_.keys +
             key;
    };
    float* const bias = elements<float>(scratch + bias_);
    if (queries == 1) {
      tile.bias = read_f32(node_.bias->dtype, args.operands[3], row_of(0), tile.count, bias);
      tile.bias_width = 1;
      return;
    }
    const auto width = panel.vectors * shape_.lanes;
    const auto rows = read_rows(node_.bias->dtype, args.operands[3], row_of(query), node_.keys, panel.queries,
                                tile.count, elements<float>(scratch + rows_));
    transpose(rows.data, rows.stride, panel.queries, tile.count, 1.0f, bias, width);
    for (std::int64_t t = 0; t < tile.count; ++t)  // the columns of no query
      for (auto i = panel.queries; i < width; ++i) bias[t * width + i] = 0.0f;
    tile.bias = bias;
    tile.bias_width = width;
  }

  void store_output(const KernelArgs& args, std::byte* scratch, std::int64_t batch, std::int64_t head,
                    std::int64_t first, const Panel& panel) const {
    const auto depth = node_.depth, width = panel.vectors * shape_.lanes;
    const AttentionPanel columns = columns_of(scratch, panel);
    finish(columns, depth);
    const bool direct = node_.dtype == DType::f32;
    float* const rows = direct ? elements<float>(args.result) + query_at(batch, first + panel.first, head)
                               : elements<float>(scratch + rows_);
    transpose(columns.output, width, depth, panel.queries, 1.0f, rows, direct ? node_.heads * depth : depth);
    if (direct) return;
    for (std::int64_t i = 0; i < panel.queries; ++i)
      store_f32(node_.dtype, args.result, query_at(batch, first + panel.first + i, head), depth,
                rows + i * depth);
  }

  AttentionNode node_;
  PanelShape shape_;
  std::int64_t workers_, tile_keys_ = 0, blocks_ = 0;
  std::size_t rows_ = 0, keys_ = 0, values_ = 0, scores_ = 0, bias_ = 0, queries_ = 0, output_ = 0, most_ = 0,
              sum_ = 0;
  std::size_t worker_bytes_ = 0;
};

Candidate make_attention_tiles(const graph::op::Attention& op, const NodeInfo& node) {
  const auto& q = node.operands[0].shape;
  const auto& k = node.operands[1].shape;
  std::optional<graph::ValueType> bias;
  if (node.operands.size() > 3) bias = node.operands[3];
  return std::make_unique<TiledAttention>(
      AttentionNode{q[0], q[1], q[2], q[3], k[1], k[2], node.operands[0].dtype, bias, op});
}

}  // namespace

std::span<const KernelEntry<graph::op::Attention>> kernels(const graph::op::Attention&) {
  static constexpr std::array<KernelEntry<graph::op::Attention>, 1> entries{
      {{"tiles", make_attention_tiles}}};
  return entries;
}

}  // namespace perfuse::cpu
