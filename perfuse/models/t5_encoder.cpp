#include "perfuse/models/t5_encoder.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/nn/attention.h"

namespace perfuse {
namespace {

using graph::Builder;
using graph::Value;

// The most negative finite number of a type: what transformers adds to masked scores.
float lowest(DType dtype) {
  switch (dtype) {
    case DType::bf16: return static_cast<float>(std::bit_cast<bfloat16>(std::uint16_t{0xff7f}));
    case DType::f16: return -65504.0f;
    default: return std::numeric_limits<float>::lowest();
  }
}

// f16 overflows in T5's residual stream; transformers clamps there, and so do we.
Value clamp_f16(Builder& b, Value x) {
  constexpr double kMost = 64504.0;  // the largest f16 less 1000
  return b.compute_type() == DType::f16 ? b.add_node(graph::op::Clamp{-kMost, kMost}, {x}) : x;
}

Value self_attention(Builder& b, const T5Config& config, Value hidden, Value bias) {
  const auto scope = b.scope("layer.0");
  const auto inner = config.num_heads * config.d_kv;
  const Value normed = nn::rms_norm(b, "layer_norm", hidden, config.layer_norm_epsilon);
  const auto heads = [&](std::string_view name) {
    return nn::split_heads(b, nn::linear(b, name, normed, inner, nn::Bias::no), config.num_heads);
  };
  const Value q = heads("SelfAttention.q"), k = heads("SelfAttention.k"), v = heads("SelfAttention.v");
  const Value mixed = nn::merge_heads(b, b.attention(q, k, v, bias, 1.0));  // T5 does not divide by √d
  const Value out = nn::linear(b, "SelfAttention.o", mixed, config.d_model, nn::Bias::no);
  return b.module_output(clamp_f16(b, b.add(hidden, out)));
}

Value feed_forward(Builder& b, const T5Config& config, Value hidden) {
  const auto scope = b.scope("layer.1");
  Value x = nn::rms_norm(b, "layer_norm", hidden, config.layer_norm_epsilon);
  if (config.gated) {
    const Value gate =
        b.unary(config.activation, nn::linear(b, "DenseReluDense.wi_0", x, config.d_ff, nn::Bias::no));
    x = b.mul(gate, nn::linear(b, "DenseReluDense.wi_1", x, config.d_ff, nn::Bias::no));
  } else {
    x = b.unary(config.activation, nn::linear(b, "DenseReluDense.wi", x, config.d_ff, nn::Bias::no));
  }
  const Value out = nn::linear(b, "DenseReluDense.wo", x, config.d_model, nn::Bias::no);
  return b.module_output(clamp_f16(b, b.add(hidden, out)));
}

}  // namespace

T5Config T5Config::read(const ConfigReader& config) {
  constexpr std::int64_t kMost = 1 << 20;
  // A field under T5's name and under the one that all of transformers' configurations share.
  const auto size = [&](std::string_view key, std::string_view shared, std::int64_t most,
                        std::int64_t fallback) {
    const auto value = config.integer(key, 1, most, fallback);
    if (!config.has(shared)) return value;
    const auto other = config.integer(shared, 1, most);
    if (config.has(key) && other != value)
      config.fail_field(shared, fmt::format("{}, but {} is {}; they mean the same", other, key, value));
    return other;
  };
  T5Config c{};
  c.d_model = size("d_model", "hidden_size", kMost, 512);
  c.d_kv = size("d_kv", "head_dim", kMost, 64);
  c.d_ff = config.integer("d_ff", 1, kMost, 2048);
  c.num_layers = size("num_layers", "num_hidden_layers", 1000, 6);
  c.num_heads = size("num_heads", "num_attention_heads", 4096, 8);
  c.vocab_size = config.integer("vocab_size", 1, 1 << 24, 32128);
  c.relative_attention_num_buckets = config.integer("relative_attention_num_buckets", 4, 65536, 32);
  c.relative_attention_max_distance = config.integer("relative_attention_max_distance", 2, kMost, 128);
  if (c.relative_attention_max_distance <= c.relative_attention_num_buckets / 4)
    config.fail_field("relative_attention_max_distance",
                      fmt::format("{} must be more than a quarter of relative_attention_num_buckets, {}",
                                  c.relative_attention_max_distance, c.relative_attention_num_buckets));
  c.layer_norm_epsilon = config.number("layer_norm_epsilon", 1e-6);
  c.read_feed_forward(config);
  config.refuse_unless("pruned_heads", {Json::object()}, "perfuse has no pruned attention heads");
  // Of training, of the decoder, or what transformers writes for every model.
  config.report_unread({"architectures",
                        "bos_token_id",
                        "chunk_size_feed_forward",
                        "classifier_dropout",
                        "decoder_start_token_id",
                        "dropout_rate",
                        "dtype",
                        "eos_token_id",
                        "gradient_checkpointing",
                        "id2label",
                        "initializer_factor",
                        "is_decoder",
                        "is_encoder_decoder",
                        "label2id",
                        "model_type",
                        "n_positions",
                        "num_decoder_layers",
                        "output_attentions",
                        "output_hidden_states",
                        "output_past",
                        "pad_token_id",
                        "problem_type",
                        "return_dict",
                        "scale_decoder_outputs",
                        "task_specific_params",
                        "tie_word_embeddings",
                        "torch_dtype",
                        "transformers_version",
                        "use_bfloat16",
                        "use_cache"});
  return c;
}

// feed_forward_proj is "ACT" or "gated-ACT", where "gated-gelu" means the form with tanh; dense_act_fn and is_gated_act,
// which transformers derives from it, win where the file has them.
void T5Config::read_feed_forward(const ConfigReader& config) {
  const std::string projection = config.string("feed_forward_proj", "relu");
  const auto dash = projection.find('-');
  const bool well_formed = dash == std::string::npos || (projection.substr(0, dash) == "gated" &&
                                                         projection.find('-', dash + 1) == std::string::npos);
  if (!well_formed)
    config.fail_field("feed_forward_proj",
                      fmt::format("{}, expected ACTIVATION or gated-ACTIVATION", quote(projection)));
  std::string name = dash == std::string::npos ? projection : projection.substr(dash + 1);
  if (projection == "gated-gelu") name = "gelu_new";
  std::string field = "feed_forward_proj";
  if (config.has("dense_act_fn")) {
    name = config.string("dense_act_fn");
    field = "dense_act_fn";
  }
  gated = config.boolean("is_gated_act", dash != std::string::npos);
  activation =
      nn::activation(nn::ActivationNames::transformers, name, fmt::format("{}: {}", config.origin(), field));
}

T5EncoderModel::T5EncoderModel(const std::filesystem::path& folder, const ModelOptions& options)
    : Model(folder, options), config_(T5Config::read(read_model_config(folder))) {}

graph::Graph T5EncoderModel::graph(std::int64_t batch, std::int64_t length) const {
  const T5Config& c = config_;
  return build([&](Builder& b) {
    const Value ids = b.input("input_ids", {DType::i32, {batch, length}});
    const Value mask_bias = b.input("attention_bias", {b.compute_type(), {batch, 1, 1, length}});
    const Value buckets = b.input("position_buckets", {DType::i32, {length, length}});

    const Shape table{c.vocab_size, c.d_model};
    Value hidden =
        b.embedding(b.parameter("shared.weight", table,
                                graph::stored_as({"shared.weight", "encoder.embed_tokens.weight"}, table)),
                    ids);

    const auto encoder = b.scope("encoder");
    // Every layer adds the first layer's position bias.
    const Value position_table = b.parameter("block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                                             {c.relative_attention_num_buckets, c.num_heads});
    const Value by_head = b.transpose(b.embedding(position_table, buckets), {2, 0, 1});
    const Value bias = b.add(b.reshape(by_head, {1, c.num_heads, length, length}), mask_bias);

    for (std::int64_t layer = 0; layer < c.num_layers; ++layer) {
      const auto block = b.block(fmt::format("block.{}", layer));
      hidden = b.module_output(feed_forward(b, c, self_attention(b, c, hidden, bias)));
    }
    hidden = nn::rms_norm(b, "final_layer_norm", hidden, c.layer_norm_epsilon);
    b.output("last_hidden_state", hidden);
  });
}

runtime::NamedBuffers T5EncoderModel::run(const Tensor& ids, const Tensor& mask,
                                          const runtime::RunOptions& options) const {
  const auto batch = ids.dim(0), length = ids.dim(1);
  for (const auto id : ids.data<std::int32_t>())
    if (id < 0 || id >= config_.vocab_size)
      fail(ErrorKind::model,
           "{}: token id {} is outside the vocabulary of {}; the tokenizer does not belong to this encoder",
           folder_.string(), id, config_.vocab_size);
  const auto module = component_->module(fmt::format("{}x{}", batch, length), options.taps,
                                         [&] { return graph(batch, length); });

  Tensor bias = Tensor::empty(DType::f32, {batch, 1, 1, length});
  auto values = bias.mutable_data<float>();
  const auto keep = mask.data<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = keep[i] != 0 ? 0.0f : lowest(component_->dtype());

  auto& context = component_->context();
  return module->run(
      {{"input_ids", context.upload(ids)},
       {"attention_bias", context.upload(bias.to(component_->dtype()))},
       {"position_buckets", context.upload(t5_position_buckets(length, config_.relative_attention_num_buckets,
                                                               config_.relative_attention_max_distance))}},
      options.stop);
}

Tensor t5_position_buckets(std::int64_t length, std::int64_t buckets, std::int64_t max_distance) {
  const std::int64_t half = buckets / 2, exact = half / 2;
  // The logarithm is f32 in torch, and so decides at the borders of buckets.
  const float ratio =
      static_cast<float>(std::log(static_cast<double>(max_distance) / static_cast<double>(exact)));
  Tensor result = Tensor::empty(DType::i32, {length, length});
  auto out = result.mutable_data<std::int32_t>();
  for (std::int64_t query = 0; query < length; ++query)
    for (std::int64_t key = 0; key < length; ++key) {
      const std::int64_t distance = std::abs(key - query);
      std::int64_t bucket = distance;
      if (distance >= exact) {
        const float position = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / ratio *
                               static_cast<float>(half - exact);
        bucket = std::min(exact + static_cast<std::int64_t>(position), half - 1);
      }
      out[static_cast<std::size_t>(query * length + key)] =
          static_cast<std::int32_t>(bucket + (key > query ? half : 0));
    }
  return result;
}

}  // namespace perfuse
