// The arithmetic of attention on one panel of queries, compiled per instruction set.
//
// A panel holds its queries in the lanes of a few vectors, so everything that concerns a query stands in a column:
//   scores[t][query] = Σ_d  keys[t][d] · queries[d][query]
//   output[d][query] += Σ_t values[t][d] · scores[t][query]
// Both products broadcast the left factor from where it lies (rows of f32 keys and values) and load the right one
// in whole vectors, the result of the first is the right factor of the second, and the softmax needs no sums
// across lanes.
#pragma once

#include <cstdint>

namespace perfuse::cpu {

// Most queries of a panel on any target, and the least that a panel grows by.
inline constexpr std::int64_t kMostPanelQueries = 64;

// Sizes of panels on this machine: queries per vector, and vectors per full panel.
struct PanelShape {
  std::int64_t lanes, vectors;
};
[[nodiscard]] PanelShape panel_shape();

// Column-wise state of one panel of `vectors` · lanes queries; row stride of every matrix is that width.
struct AttentionPanel {
  std::int64_t vectors;
  const float* queries;  // [D][width], scaled
  float* scores;         // [tile][width], scratch
  float* output;         // [D][width]
  float* most;           // [width]: greatest score so far, from −FLT_MAX
  float* sum;            // [width]: Σ exp(score − most)
};

// One tile of keys and values, f32 rows of D elements.
struct AttentionTile {
  std::int64_t depth;  // D
  std::int64_t count;
  const float* keys;
  const float* values;
  const float* bias;        // null, or see bias_width
  std::int64_t bias_width;  // 1: bias[t] for all queries; else the panel's width: bias[t][query]
  // Key t of the tile is seen by the panel's query i if t ≤ i + visible; far beyond all keys where not causal.
  std::int64_t visible;
};

// Adds the tile to the panel's running softmax.
void add_tile(const AttentionPanel& panel, const AttentionTile& tile);

// The panel's output divided by its sums, in place; 0 where no key was seen.
void finish(const AttentionPanel& panel, std::int64_t depth);

// to[column][row] = from[row][column] · scale.
void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               float scale, float* to, std::int64_t to_stride);

}  // namespace perfuse::cpu
