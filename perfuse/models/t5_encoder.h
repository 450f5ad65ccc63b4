// transformers' T5EncoderModel: token ids to hidden states.
#pragma once

#include "perfuse/models/model.h"

namespace perfuse {

struct T5Config {
  std::int64_t d_model, d_kv, d_ff, num_layers, num_heads, vocab_size;
  std::int64_t relative_attention_num_buckets, relative_attention_max_distance;
  double layer_norm_epsilon;
  graph::op::UnaryKind activation;
  bool gated;  // wi_0 and wi_1 instead of wi

  [[nodiscard]] static T5Config read(const ConfigReader& config);

 private:
  void read_feed_forward(const ConfigReader& config);
};

class T5EncoderModel : public Model {
 public:
  T5EncoderModel(const std::filesystem::path& folder, const ModelOptions& options);

  [[nodiscard]] std::string_view class_name() const override { return "T5EncoderModel"; }
  [[nodiscard]] const T5Config& config() const { return config_; }

  // Inputs input_ids i32[B, L], attention_bias [B, 1, 1, L], position_buckets i32[L, L]; output
  // last_hidden_state [B, L, d_model].
  [[nodiscard]] graph::Graph graph(std::int64_t batch, std::int64_t length) const;

  // ids and mask i32[B, L] (mask 1 for tokens, 0 for padding). Outputs: last_hidden_state and the taps.
  [[nodiscard]] runtime::NamedBuffers run(const Tensor& ids, const Tensor& mask,
                                          const runtime::RunOptions& options = {}) const;

 private:
  T5Config config_;
};

// The bucket of each relative position key − query, i32[length, length]: half of the buckets for either direction,
// of these half exact and the rest logarithmic up to max_distance.
[[nodiscard]] Tensor t5_position_buckets(std::int64_t length, std::int64_t buckets,
                                         std::int64_t max_distance);

}  // namespace perfuse
