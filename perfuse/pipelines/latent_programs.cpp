#include "perfuse/pipelines/latent_programs.h"

#include <fmt/format.h>

#include "perfuse/graph/builder.h"

namespace perfuse {

using graph::Builder;
using graph::Value;
using runtime::BufferPtr;

LatentPrograms::LatentPrograms(std::shared_ptr<runtime::DeviceContext> context, DType dtype)
    : dtype_(dtype),
      component_("latents", nullptr, std::move(context), {dtype, graph::Granularity::whole, {}}) {}

BufferPtr LatentPrograms::upload(const std::vector<double>& coefficients) {
  Tensor tensor = Tensor::empty(DType::f32, {static_cast<std::int64_t>(coefficients.size())});
  auto out = tensor.mutable_data<float>();
  for (std::size_t i = 0; i < coefficients.size(); ++i) out[i] = static_cast<float>(coefficients[i]);
  return component_.context().upload(tensor);
}

BufferPtr LatentPrograms::combine(const std::vector<double>& coefficients,
                                  const std::vector<BufferPtr>& terms, DType dtype) {
  std::string key = fmt::format("combine {}", to_string(dtype));
  for (const auto& term : terms) (key += ' ') += to_string(term->type());
  const auto module = component_.module(key, {}, [&] {
    Builder b("latents", nullptr, dtype_);
    const Value weights = b.input("coefficients", {DType::f32, {static_cast<std::int64_t>(terms.size())}});
    std::vector<Value> values;
    for (std::size_t i = 0; i < terms.size(); ++i)
      values.push_back(b.input(fmt::format("term{}", i), terms[i]->type()));
    b.output("sum", b.linear_combination(weights, values, dtype));
    return b.finish();
  });
  runtime::NamedBuffers inputs{{"coefficients", upload(coefficients)}};
  for (std::size_t i = 0; i < terms.size(); ++i) inputs[fmt::format("term{}", i)] = terms[i];
  return module->run(inputs).at("sum");
}

BufferPtr LatentPrograms::model_input(const BufferPtr& x, double scale, int copies) {
  const auto module =
      component_.module(fmt::format("model_input {} {}", to_string(x->type()), copies), {}, [&] {
        Builder b("latents", nullptr, dtype_);
        const Value factor = b.input("scale", {DType::f32, {1}});
        const Value scaled = b.linear_combination(factor, {b.input("x", x->type())}, dtype_);
        b.output("y", b.concat(std::vector<Value>(static_cast<std::size_t>(copies), scaled), 0));
        return b.finish();
      });
  return module->run({{"x", x}, {"scale", upload({scale})}}).at("y");
}

BufferPtr LatentPrograms::guide(const std::vector<BufferPtr>& predictions, double scale,
                                std::int64_t channels) {
  const auto module = component_.module(
      fmt::format("guide {} {} {}", predictions.size(), to_string(predictions[0]->type()), channels), {},
      [&] {
        Builder b("latents", nullptr, dtype_);
        const Value weights = b.input("coefficients", {DType::f32, {2}});
        Value negative = b.input("prediction0", predictions[0]->type()), positive;
        if (predictions.size() == 2) {
          positive = b.input("prediction1", predictions[1]->type());
        } else {
          const auto batch = b.dim(negative, 0);
          positive = b.slice(negative, 0, batch / 2, batch);
          negative = b.slice(negative, 0, 0, batch / 2);
        }
        const auto used = [&](Value v) { return b.dim(v, 3) == channels ? v : b.slice(v, 3, 0, channels); };
        negative = used(negative);
        b.output("y", b.linear_combination(weights, {negative, b.sub(used(positive), negative)}, dtype_));
        return b.finish();
      });
  runtime::NamedBuffers inputs{{"coefficients", upload({1.0, scale})}};
  for (std::size_t i = 0; i < predictions.size(); ++i)
    inputs[fmt::format("prediction{}", i)] = predictions[i];
  return module->run(inputs).at("y");
}

BufferPtr LatentPrograms::first_channels(const BufferPtr& x, std::int64_t channels) {
  if (x->type().shape[3] == channels) return x;
  const auto module = component_.module(fmt::format("first {} {}", to_string(x->type()), channels), {}, [&] {
    Builder b("latents", nullptr, dtype_);
    b.output("y", b.slice(b.input("x", x->type()), 3, 0, channels));
    return b.finish();
  });
  return module->run({{"x", x}}).at("y");
}

BufferPtr LatentPrograms::repeat_interleave(const BufferPtr& x, std::int64_t times) {
  if (times == 1) return x;
  const auto module = component_.module(fmt::format("repeat {} {}", to_string(x->type()), times), {}, [&] {
    Builder b("latents", nullptr, dtype_);
    Shape with_axis = x->type().shape, result = x->type().shape;
    with_axis.insert(with_axis.begin() + 1, 1);
    Shape wide = with_axis;
    wide[1] = times;
    result[0] *= times;
    b.output("y", b.reshape(b.broadcast(b.reshape(b.input("x", x->type()), with_axis), wide), result));
    return b.finish();
  });
  return module->run({{"x", x}}).at("y");
}

}  // namespace perfuse
