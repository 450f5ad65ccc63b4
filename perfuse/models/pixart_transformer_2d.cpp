#include "perfuse/models/pixart_transformer_2d.h"

#include <fmt/format.h>

#include "perfuse/core/error.h"
#include "perfuse/nn/attention.h"
#include "perfuse/nn/embeddings.h"

namespace perfuse {
namespace {

using graph::Builder;
using graph::Value;
using Config = PixArtTransformer2DConfig;

constexpr std::int64_t kTimestepSinusoids = 256;
constexpr float kMaskedScore = -10000.0f;

// The `count` rows of a scale_shift_table plus a conditioning [B, count · C] (or [B, 1 · C] for all rows): each as [B, 1, C].
std::vector<Value> shifts_and_scales(Builder& b, std::int64_t count, std::int64_t channels,
                                     Value conditioning) {
  const auto batch = b.dim(conditioning, 0);
  const auto rows = b.dim(conditioning, 1) / channels;
  const Value table = b.parameter("scale_shift_table", {count, channels});
  const Value typed = b.convert(b.reshape(table, {1, count, channels}), b.compute_type());
  const Value sum = b.add(typed, b.reshape(conditioning, {batch, rows, channels}));
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < count; ++i) parts.push_back(b.slice(sum, 1, i, i + 1));
  return parts;
}

// PatchEmbed: each patch of the latents to a token, plus its place.
Value patch_embed(Builder& b, const Config& c, Value latents, Value positions) {
  const auto scope = b.scope("pos_embed");
  const Value patches = nn::conv2d(b, "proj", latents, c.inner_dim(), c.patch_size, c.patch_size);
  const auto tokens = b.dim(patches, 1) * b.dim(patches, 2);
  return b.module_output(b.add(b.reshape(patches, {b.dim(latents, 0), tokens, c.inner_dim()}), positions));
}

// AdaLayerNormSingle's embedding of the timestep, and of size and aspect ratio where the model has them: [B, C].
Value conditioning(Builder& b, const Config& c, Value timestep, Value resolution, Value aspect_ratio) {
  const auto scope = b.scope("emb");
  const auto batch = b.dim(timestep, 0);
  Value embedded =
      nn::timestep_projection(b, "timestep_embedder", timestep, kTimestepSinusoids, c.inner_dim());
  if (c.use_additional_conditions) {
    const auto third = c.inner_dim() / 3;
    const Value size =
        nn::timestep_projection(b, "resolution_embedder", resolution, kTimestepSinusoids, third);
    const Value ratio =
        nn::timestep_projection(b, "aspect_ratio_embedder", aspect_ratio, kTimestepSinusoids, third);
    embedded = b.add(embedded, b.concat({b.reshape(size, {batch, 2 * third}), ratio}, 1));
  }
  return b.module_output(embedded);
}

Value caption_projection(Builder& b, const Config& c, Value caption) {
  const auto scope = b.scope("caption_projection");
  const Value hidden =
      b.unary(graph::op::UnaryKind::gelu_tanh, nn::linear(b, "linear_1", caption, c.inner_dim()));
  return b.module_output(nn::linear(b, "linear_2", hidden, c.inner_dim()));
}

Value feed_forward(Builder& b, const Config& c, Value x) {
  const auto scope = b.scope("ff");
  const Value hidden = b.unary(c.activation, nn::linear(b, "net.0.proj", x, 4 * c.inner_dim()));
  return b.module_output(nn::linear(b, "net.2", hidden, c.inner_dim()));
}

// BasicTransformerBlock(norm_type="ada_norm_single").
Value transformer_block(Builder& b, const Config& c, std::string_view name, Value hidden, Value caption,
                        Value caption_bias, Value modulation) {
  const auto block = b.block(name);
  const nn::AttentionOptions heads{c.num_attention_heads, c.attention_head_dim,
                                   c.attention_bias ? nn::Bias::yes : nn::Bias::no};
  const auto m = shifts_and_scales(b, 6, c.inner_dim(),
                                   modulation);  // shift, scale, gate of attention; then of feed-forward
  Value normed = nn::modulate(b, nn::layer_norm_plain(b, "norm1", hidden, c.norm_eps), m[0], m[1]);
  hidden = b.add(b.mul(m[2], nn::attention(b, "attn1", normed, normed, {}, heads)), hidden);
  hidden = b.add(nn::attention(b, "attn2", hidden, caption, caption_bias, heads), hidden);
  normed = nn::modulate(b, nn::layer_norm_plain(b, "norm2", hidden, c.norm_eps), m[3], m[4]);
  return b.module_output(b.add(b.mul(m[5], feed_forward(b, c, normed)), hidden));
}

// Tokens [B, h·w, p·p·C] to an image [B, h·p, w·p, C].
Value unpatch(Builder& b, Value tokens, std::int64_t rows, std::int64_t columns, std::int64_t patch) {
  const auto batch = b.dim(tokens, 0), channels = b.dim(tokens, 2) / (patch * patch);
  const Value grid = b.reshape(tokens, {batch, rows, columns, patch, patch, channels});
  return b.reshape(b.transpose(grid, {0, 1, 3, 2, 4, 5}), {batch, rows * patch, columns * patch, channels});
}

}  // namespace

Config Config::read(const ConfigReader& config) {
  Config c{};
  c.num_attention_heads = config.integer("num_attention_heads", 1, 4096, 16);
  c.attention_head_dim = config.integer("attention_head_dim", 1, 4096, 72);
  c.in_channels = config.integer("in_channels", 1, 1024, 4);
  c.out_channels =
      config.integer("out_channels", 1, 2048, config.is_null("out_channels") ? c.in_channels : 8);
  c.num_layers = config.integer("num_layers", 1, 1000, 28);
  c.cross_attention_dim = config.integer("cross_attention_dim", 1, 1 << 20, 1152);
  if (!config.has("caption_channels"))
    fail(ErrorKind::unsupported,
         "{}: caption_channels: missing or null; perfuse has no PixArt without a caption_projection",
         config.origin());
  c.caption_channels = config.integer("caption_channels", 1, 1 << 20);
  c.sample_size = config.integer("sample_size", 1, 65536, 128);
  c.patch_size = config.integer("patch_size", 1, 64, 2);
  c.attention_bias = config.boolean("attention_bias", true);
  c.norm_eps = config.number("norm_eps", 1e-6);
  c.use_additional_conditions = config.boolean("use_additional_conditions", c.sample_size == 128);
  c.interpolation_scale = config.number("interpolation_scale",
                                        static_cast<double>(std::max<std::int64_t>(c.sample_size / 64, 1)));
  if (c.interpolation_scale <= 0.0) config.fail_field("interpolation_scale", "must be more than 0");
  c.activation =
      nn::activation(nn::ActivationNames::feed_forward, config.string("activation_fn", "gelu-approximate"),
                     config.origin() + ": activation_fn");
  // The first releases named the class Transformer2DModel, whose own norm_type is another.
  const bool first_releases = config.string("_class_name", "") == "Transformer2DModel";
  if (first_releases && !config.has("norm_type"))
    fail(
        ErrorKind::unsupported,
        "{}: norm_type: missing, which makes a Transformer2DModel of layer_norm; PixArt's is ada_norm_single",
        config.origin());
  config.refuse_unless("norm_type", {"ada_norm_single"}, "PixArt's is \"ada_norm_single\"");
  config.refuse_unless("attention_type", {"default"}, "perfuse has \"default\" alone");
  config.refuse_unless("norm_elementwise_affine", {false}, "PixArt's norms have no weights of their own");
  if (config.is_null("num_embeds_ada_norm"))
    fail(ErrorKind::unsupported, "{}: num_embeds_ada_norm: null; diffusers refuses that for ada_norm_single",
         config.origin());
  // Dropout is for training; scores are f32 in any case; the others belong to other norm_types and to the class that
  // the first releases named.
  config.report_unread({"double_self_attention", "dropout", "norm_num_groups", "num_embeds_ada_norm",
                        "num_vector_embeds", "only_cross_attention", "upcast_attention",
                        "use_linear_projection"});
  if (c.inner_dim() % 4 != 0)
    config.fail_field(
        "attention_head_dim",
        fmt::format("times num_attention_heads is {}, expected a multiple of 4", c.inner_dim()));
  if (c.cross_attention_dim != c.inner_dim())
    config.fail_field("cross_attention_dim", fmt::format("is {}, expected heads × head dim, {}",
                                                         c.cross_attention_dim, c.inner_dim()));
  if (c.use_additional_conditions && c.inner_dim() % 3 != 0)
    config.fail_field("use_additional_conditions",
                      fmt::format("needs heads × head dim, {}, to be a multiple of 3", c.inner_dim()));
  return c;
}

PixArtTransformer2DModel::PixArtTransformer2DModel(const std::filesystem::path& folder,
                                                   const ModelOptions& options)
    : Model(folder, options), config_(Config::read(read_model_config(folder))) {}

graph::Graph PixArtTransformer2DModel::graph(const Sizes& s) const {
  const Config& c = config_;
  return build([&](Builder& b) {
    const auto rows = s.height / c.patch_size, columns = s.width / c.patch_size;
    const DType type = b.compute_type();
    const Value latents = b.input("hidden_states", {type, {s.batch, s.height, s.width, c.in_channels}});
    const Value timestep = b.input("timestep", {DType::f32, {s.batch}});
    const Value text = b.input("encoder_hidden_states", {type, {s.batch, s.text_length, c.caption_channels}});
    const Value text_bias = b.input("encoder_attention_bias", {type, {s.batch, 1, 1, s.text_length}});
    const Value positions = b.input("position_table", {type, {1, rows * columns, c.inner_dim()}});
    const Value resolution =
        c.use_additional_conditions ? b.input("resolution", {DType::f32, {s.batch * 2}}) : Value{};
    const Value aspect_ratio =
        c.use_additional_conditions ? b.input("aspect_ratio", {DType::f32, {s.batch}}) : Value{};

    Value embedded, modulation;
    {
      const auto scope = b.scope("adaln_single");
      embedded = conditioning(b, c, timestep, resolution, aspect_ratio);
      modulation = nn::linear(b, "linear", b.unary(graph::op::UnaryKind::silu, embedded), 6 * c.inner_dim());
    }
    const Value caption = caption_projection(b, c, text);
    Value hidden = patch_embed(b, c, latents, positions);
    for (std::int64_t layer = 0; layer < c.num_layers; ++layer)
      hidden = transformer_block(b, c, fmt::format("transformer_blocks.{}", layer), hidden, caption,
                                 text_bias, modulation);

    const auto last = shifts_and_scales(b, 2, c.inner_dim(), embedded);
    hidden = nn::modulate(b, nn::layer_norm_plain(b, "norm_out", hidden, 1e-6), last[0], last[1]);
    hidden = nn::linear(b, "proj_out", hidden, c.patch_size * c.patch_size * c.out_channels);
    b.output("sample", unpatch(b, hidden, rows, columns, c.patch_size));
  });
}

runtime::NamedBuffers PixArtTransformer2DModel::prepare(const Sizes& s, const Conditions& conditions) const {
  auto& context = component_->context();
  const DType type = component_->dtype();
  Tensor bias = Tensor::empty(DType::f32, {s.batch, 1, 1, s.text_length});
  auto values = bias.mutable_data<float>();
  const auto keep = conditions.encoder_attention_mask.data<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = keep[i] != 0 ? 0.0f : kMaskedScore;

  const Tensor positions = nn::sincos_position_table(
      config_.inner_dim(), s.height / config_.patch_size, s.width / config_.patch_size,
      config_.sample_size / config_.patch_size, config_.interpolation_scale);
  runtime::NamedBuffers inputs{{"encoder_hidden_states", conditions.encoder_hidden_states},
                               {"encoder_attention_bias", context.upload(bias.to(type))},
                               {"position_table", context.upload(positions.to(type))}};
  if (config_.use_additional_conditions) {
    inputs["resolution"] = context.upload(conditions.resolution.reshape({s.batch * 2}));
    inputs["aspect_ratio"] = context.upload(conditions.aspect_ratio.reshape({s.batch}));
  }
  return inputs;
}

runtime::NamedBuffers PixArtTransformer2DModel::run(const Sizes& s, runtime::NamedBuffers prepared,
                                                    runtime::BufferPtr hidden_states,
                                                    runtime::BufferPtr timestep,
                                                    const runtime::RunOptions& options) const {
  const auto key = fmt::format("{}x{}x{} text {}", s.batch, s.height, s.width, s.text_length);
  const auto module = component_->module(key, options.taps, [&] { return graph(s); });
  prepared["hidden_states"] = std::move(hidden_states);
  prepared["timestep"] = std::move(timestep);
  return module->run(prepared, options.stop);
}

}  // namespace perfuse
