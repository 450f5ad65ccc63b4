#include "perfuse/pipelines/latent_programs.h"

#include <fmt/format.h>

#include <set>

#include "perfuse/graph/builder.h"
#include "perfuse/pipelines/step_values.h"

namespace perfuse {

using graph::Builder;
using graph::Value;
using runtime::BufferPtr;

namespace {

const graph::ValueType kValues{DType::f32, {kStepRows, kStepTerms + 1}};

// `count` numbers of one row of the step's values, from `column` on: f32[count].
Value numbers(Builder& b, Value values, std::int64_t row, std::int64_t column, std::int64_t count) {
  const Value line = b.slice(values, 0, row, row + 1);
  return b.reshape(b.slice(line, 1, column, column + count), {count});
}

}  // namespace

LatentPrograms::LatentPrograms(std::shared_ptr<runtime::DeviceContext> context, DType dtype)
    : dtype_(dtype),
      component_("latents", nullptr, std::move(context),
                 {dtype, {graph::Granularity::whole, false, nullptr}, {}}) {}

LatentPrograms::StepInputs LatentPrograms::step_inputs(const BufferPtr& values, const BufferPtr& sample,
                                                       int copies) {
  const auto module =
      component_.module(fmt::format("step_inputs {} {}", to_string(sample->type()), copies), {}, [&] {
        Builder b("latents", nullptr, dtype_);
        const Value table = b.input("values", kValues);
        const Value factor = numbers(b, table, 0, StepColumns::input_scale, 1);
        const Value scaled = b.linear_combination(factor, {b.input("sample", sample->type())}, dtype_);
        b.output("scaled", b.concat(std::vector<Value>(static_cast<std::size_t>(copies), scaled), 0));
        const Value timestep = numbers(b, table, 0, StepColumns::timestep, 1);
        b.output("timestep", b.broadcast(timestep, {copies * sample->type().shape[0]}));
        return b.finish();
      });
  auto outputs = module->run({{"values", values}, {"sample", sample}});
  return {outputs.at("scaled"), outputs.at("timestep")};
}

BufferPtr LatentPrograms::guide(const BufferPtr& values, const std::vector<BufferPtr>& predictions,
                                std::int64_t channels) {
  const auto module = component_.module(
      fmt::format("guide {} {} {}", predictions.size(), to_string(predictions[0]->type()), channels), {},
      [&] {
        Builder b("latents", nullptr, dtype_);
        const Value weights = numbers(b, b.input("values", kValues), 0, StepColumns::guidance, 2);
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
  runtime::NamedBuffers inputs{{"values", values}};
  for (std::size_t i = 0; i < predictions.size(); ++i)
    inputs[fmt::format("prediction{}", i)] = predictions[i];
  return module->run(inputs).at("y");
}

BufferPtr LatentPrograms::sum(const Sum& sum) {
  const auto module = component_.module("sum " + to_string(sum.terms[0]->type()), {}, [&] {
    Builder b("latents", nullptr, dtype_);
    const Value table = b.input("values", kValues), row = b.input("row", {DType::i32, {1}});
    const Value weights =
        b.reshape(b.add_node(graph::op::Embedding{DType::f32}, {table, row}), {kStepTerms + 1});
    std::vector<Value> terms;
    for (std::size_t i = 0; i < kStepTerms; ++i)
      terms.push_back(b.input(fmt::format("term{}", i), sum.terms[i]->type()));
    terms.push_back(b.input("noise", sum.noise->type()));
    b.output("sum", b.linear_combination(weights, terms, dtype_));
    return b.finish();
  });
  runtime::NamedBuffers inputs{{"values", sum.values}, {"row", sum.row}, {"noise", sum.noise}};
  for (std::size_t i = 0; i < kStepTerms; ++i) inputs[fmt::format("term{}", i)] = sum.terms[i];
  std::set<std::string, std::less<>> given_away;
  if (sum.first_is_done) given_away.insert("term0");
  return module->run(inputs, {}, given_away).at("sum");
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

BufferPtr LatentPrograms::scale(const BufferPtr& x, double factor) {
  const auto module = component_.module(fmt::format("scale {} {}", to_string(x->type()), factor), {}, [&] {
    Builder b("latents", nullptr, dtype_);
    b.output("y", b.affine(b.input("x", x->type()), factor, 0.0));
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
