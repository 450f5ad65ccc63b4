#include "perfuse/nn/embeddings.h"

#include <cmath>

namespace perfuse::nn {

Value timestep_mlp(Builder& b, std::string_view name, Value x, std::int64_t channels) {
  const auto scope = b.scope(name);
  const Value hidden = b.unary(graph::op::UnaryKind::silu, linear(b, "linear_1", x, channels));
  return b.module_output(linear(b, "linear_2", hidden, channels));
}

Value timestep_projection(Builder& b, std::string_view name, Value t, std::int64_t sinusoids,
                          std::int64_t channels) {
  const Value waves = b.timestep_embedding(t, {sinusoids, true, 0.0, 10000.0});
  return timestep_mlp(b, name, b.convert(waves, b.compute_type()), channels);
}

Value modulate(Builder& b, Value x, Value shift, Value scale) {
  return b.add(b.mul(x, b.affine(scale, 1.0, 1.0)), shift);
}

Tensor sincos_position_table(std::int64_t channels, std::int64_t height, std::int64_t width,
                             std::int64_t base_size, double interpolation_scale) {
  const std::int64_t quarter = channels / 4;
  Tensor table = Tensor::empty(DType::f32, {1, height * width, channels});
  auto out = table.mutable_data<float>();
  // Positions are f32 in the original, frequencies double.
  const auto position = [&](std::int64_t i, std::int64_t size) {
    const auto ratio = static_cast<float>(static_cast<double>(size) / static_cast<double>(base_size));
    return static_cast<double>(static_cast<float>(i) / ratio / static_cast<float>(interpolation_scale));
  };
  std::vector<double> frequencies(static_cast<std::size_t>(quarter));
  for (std::int64_t k = 0; k < quarter; ++k)
    frequencies[static_cast<std::size_t>(k)] =
        1.0 / std::pow(10000.0, static_cast<double>(k) / static_cast<double>(quarter));
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      float* at = out.data() + (row * width + column) * channels;
      for (const double p : {position(column, width), position(row, height)})
        for (const bool sine : {true, false})
          for (const double frequency : frequencies)
            *at++ = static_cast<float>(sine ? std::sin(p * frequency) : std::cos(p * frequency));
    }
  return table;
}

}  // namespace perfuse::nn
