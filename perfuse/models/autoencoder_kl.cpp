#include "perfuse/models/autoencoder_kl.h"

#include <fmt/format.h>

#include <cmath>

#include "perfuse/core/error.h"
#include "perfuse/nn/attention.h"
#include "perfuse/nn/resnet.h"

namespace perfuse {
namespace {

using graph::Builder;
using graph::Value;

constexpr double kEps = 1e-6;

// A linear layer of the mid block's attention, under its name of today or of the first releases, as matrix or 1×1 convolution.
Value old_or_new_linear(Builder& b, const std::string& name, const std::string& old_name, Value x) {
  const auto scope = b.scope(name);
  const auto channels = b.dim(x, -1);
  const auto key = [&](const std::string& part, const std::string& leaf) {
    const auto& path = b.path();
    return path.substr(0, path.size() - name.size()) + part + leaf;
  };
  const auto parameter = [&](const std::string& leaf, const Shape& shape) {
    auto recipe = graph::stored_as({key(name, "." + leaf), key(old_name, "." + leaf)}, shape);
    recipe.reshape = true;
    return b.parameter(leaf, shape, std::move(recipe));
  };
  const Value weight = parameter("weight", {channels, channels});
  return b.module_output(b.linear(x, weight, parameter("bias", {channels})));
}

// One head over all positions of the image.
Value mid_attention(Builder& b, std::string_view name, Value x, std::int64_t groups) {
  const auto block = b.block(name);
  const auto channels = b.dim(x, -1);
  const Value normed = nn::group_norm(b, "group_norm", x, groups, kEps);
  const Value rows = b.reshape(normed, {b.dim(x, 0), b.dim(x, 1) * b.dim(x, 2), channels});
  const Value q = nn::split_heads(b, old_or_new_linear(b, "to_q", "query", rows), 1);
  const Value k = nn::split_heads(b, old_or_new_linear(b, "to_k", "key", rows), 1);
  const Value v = nn::split_heads(b, old_or_new_linear(b, "to_v", "value", rows), 1);
  const Value mixed =
      nn::merge_heads(b, b.attention(q, k, v, {}, 1.0 / std::sqrt(static_cast<double>(channels))));
  const Value out = old_or_new_linear(b, "to_out.0", "proj_attn", mixed);
  return b.module_output(b.add(b.reshape(out, b.shape(x)), x));
}

Value mid_block(Builder& b, const AutoencoderKLConfig& c, Value x) {
  const auto scope = b.scope("mid_block");
  const nn::ResnetOptions resnet{b.dim(x, -1), c.norm_num_groups, kEps, c.activation};
  x = nn::resnet_block_2d(b, "resnets.0", x, resnet);
  if (c.mid_block_add_attention) x = mid_attention(b, "attentions.0", x, c.norm_num_groups);
  return b.module_output(nn::resnet_block_2d(b, "resnets.1", x, resnet));
}

Value final_conv(Builder& b, const AutoencoderKLConfig& c, Value x, std::int64_t out_channels) {
  // SiLU whatever act_fn is: that one is of the resnet blocks alone.
  x = b.unary(graph::op::UnaryKind::silu, nn::group_norm(b, "conv_norm_out", x, c.norm_num_groups, kEps));
  return nn::conv2d(b, "conv_out", x, out_channels, 3, 1, 1);
}

Value decoder(Builder& b, const AutoencoderKLConfig& c, Value x) {
  const auto scope = b.scope("decoder");
  const auto& channels = c.block_out_channels;
  x = nn::conv2d(b, "conv_in", x, channels.back(), 3, 1, 1);
  x = mid_block(b, c, x);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto up = b.scope(fmt::format("up_blocks.{}", i));
    const nn::ResnetOptions resnet{channels[channels.size() - 1 - i], c.norm_num_groups, kEps, c.activation};
    for (std::int64_t layer = 0; layer <= c.layers_per_block; ++layer)
      x = nn::resnet_block_2d(b, fmt::format("resnets.{}", layer), x, resnet);
    if (i + 1 < channels.size()) x = nn::upsample_2d(b, "upsamplers.0", x);
    b.module_output(x);
  }
  return b.module_output(final_conv(b, c, x, c.out_channels));
}

Value encoder(Builder& b, const AutoencoderKLConfig& c, Value x) {
  const auto scope = b.scope("encoder");
  const auto& channels = c.block_out_channels;
  x = nn::conv2d(b, "conv_in", x, channels.front(), 3, 1, 1);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto down = b.scope(fmt::format("down_blocks.{}", i));
    const nn::ResnetOptions resnet{channels[i], c.norm_num_groups, kEps, c.activation};
    for (std::int64_t layer = 0; layer < c.layers_per_block; ++layer)
      x = nn::resnet_block_2d(b, fmt::format("resnets.{}", layer), x, resnet);
    if (i + 1 < channels.size()) x = nn::downsample_2d_asymmetric(b, "downsamplers.0", x);
    b.module_output(x);
  }
  x = mid_block(b, c, x);
  return b.module_output(final_conv(b, c, x, 2 * c.latent_channels));
}

}  // namespace

AutoencoderKLConfig AutoencoderKLConfig::read(const ConfigReader& config) {
  AutoencoderKLConfig c{};
  c.in_channels = config.integer("in_channels", 1, 64, 3);
  c.out_channels = config.integer("out_channels", 1, 64, 3);
  c.latent_channels = config.integer("latent_channels", 1, 1024, 4);
  c.layers_per_block = config.integer("layers_per_block", 1, 64, 1);
  c.norm_num_groups = config.integer("norm_num_groups", 1, 1024, 32);
  c.block_out_channels = config.integers("block_out_channels", 1, 65536, std::vector<std::int64_t>{64});
  if (c.block_out_channels.empty() || c.block_out_channels.size() > 8)
    config.fail_field("block_out_channels",
                      fmt::format("has {} entries, expected 1 to 8", c.block_out_channels.size()));
  for (const auto channels : c.block_out_channels)
    if (channels % c.norm_num_groups != 0)
      config.fail_field("block_out_channels", fmt::format("{} is not a multiple of norm_num_groups, {}",
                                                          channels, c.norm_num_groups));
  c.use_quant_conv = config.boolean("use_quant_conv", true);
  c.use_post_quant_conv = config.boolean("use_post_quant_conv", true);
  c.mid_block_add_attention = config.boolean("mid_block_add_attention", true);
  c.scaling_factor = config.number("scaling_factor", 0.18215);
  if (c.scaling_factor == 0.0)
    config.fail_field("scaling_factor", "is 0, expected a number that latents can be divided by");
  c.activation = nn::activation(nn::ActivationNames::diffusers, config.string("act_fn", "silu"),
                                config.origin() + ": act_fn");

  const auto check_types = [&](std::string_view key, std::string_view known) {
    const auto types =
        config.strings(key, std::vector<std::string>(c.block_out_channels.size(), std::string(known)));
    if (types.size() != c.block_out_channels.size())
      config.fail_field(key, fmt::format("has {} entries, block_out_channels {}", types.size(),
                                         c.block_out_channels.size()));
    for (const auto& type : types)
      if (type != known)
        fail(ErrorKind::unsupported, "{}: {}: block type \"{}\"; AutoencoderKL knows {}", config.origin(),
             key, type, known);
  };
  check_types("down_block_types", "DownEncoderBlock2D");
  check_types("up_block_types", "UpDecoderBlock2D");
  // Of pipelines that run in f16, of tiling, and of pipelines with other latents.
  config.report_unread({"force_upcast", "latents_mean", "latents_std", "sample_size", "shift_factor"});
  return c;
}

AutoencoderKL::AutoencoderKL(const std::filesystem::path& folder, const ModelOptions& options)
    : Model(folder, options), config_(AutoencoderKLConfig::read(read_model_config(folder))) {}

graph::Graph AutoencoderKL::decoder_graph(std::int64_t batch, std::int64_t height, std::int64_t width) const {
  return build([&](Builder& b) {
    Value z = b.input("z", {b.compute_type(), {batch, height, width, config_.latent_channels}});
    if (config_.use_post_quant_conv) z = nn::conv2d(b, "post_quant_conv", z, config_.latent_channels, 1);
    b.output("sample", decoder(b, config_, z));
  });
}

graph::Graph AutoencoderKL::encoder_graph(std::int64_t batch, std::int64_t height, std::int64_t width) const {
  return build([&](Builder& b) {
    const auto channels = config_.latent_channels;
    Value moments =
        encoder(b, config_, b.input("x", {b.compute_type(), {batch, height, width, config_.in_channels}}));
    if (config_.use_quant_conv) moments = nn::conv2d(b, "quant_conv", moments, 2 * channels, 1);
    const Value logvar =
        b.add_node(graph::op::Clamp{-30.0, 20.0}, {b.slice(moments, 3, channels, 2 * channels)});
    b.output("mean", b.slice(moments, 3, 0, channels));
    b.output("logvar", logvar);
    b.output("std", b.unary(graph::op::UnaryKind::exp, b.affine(logvar, 0.5, 0.0)));
  });
}

runtime::NamedBuffers AutoencoderKL::decode(const runtime::BufferPtr& latents,
                                            const runtime::RunOptions& options) const {
  const auto& shape = latents->type().shape;
  const auto module = component_->module("decode " + to_string(shape), options.taps,
                                         [&] { return decoder_graph(shape[0], shape[1], shape[2]); });
  return module->run({{"z", latents}}, options.stop);
}

runtime::NamedBuffers AutoencoderKL::encode(const runtime::BufferPtr& images,
                                            const runtime::RunOptions& options) const {
  const auto& shape = images->type().shape;
  const auto module = component_->module("encode " + to_string(shape), options.taps,
                                         [&] { return encoder_graph(shape[0], shape[1], shape[2]); });
  return module->run({{"x", images}}, options.stop);
}

}  // namespace perfuse
