// Builds a graph node by node: the one place where types are inferred, module paths are kept and
// parameters are looked up in the weight files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perfuse/graph/graph.h"

namespace perfuse::graph {

// A value under construction.
struct Value {
  ValueId id = -1;
  [[nodiscard]] bool valid() const { return id >= 0; }
};

class Builder {
 public:
  // `weights` may be null for programs without parameters. `compute` is the type that activations have;
  // parameters keep the files' type under f32 (it is converted where it is used), else become `compute`.
  Builder(std::string name, const WeightFiles* weights, DType compute);

  [[nodiscard]] DType compute_type() const { return compute_; }
  [[nodiscard]] const ValueType& type(Value value) const { return graph_.type(value.id); }
  [[nodiscard]] const Shape& shape(Value value) const { return type(value).shape; }
  [[nodiscard]] std::int64_t dim(Value value, int axis) const;  // −1 is the last

  // A module path is open while its Scope lives; names inside are joined with ".".
  class [[nodiscard]] Scope {
   public:
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Builder;
    Scope(Builder& builder, std::size_t path_length, int block)
        : builder_(builder), path_length_(path_length), block_(block) {}
    Builder& builder_;
    std::size_t path_length_;
    int block_;
  };
  // An empty name opens nothing.
  Scope scope(std::string_view name);
  // A scope that is a segment of its own in block granularity (unless inside another block).
  Scope block(std::string_view name);
  [[nodiscard]] const std::string& path() const { return path_; }
  // "path.name", or the name at the top.
  [[nodiscard]] std::string qualified(std::string_view name) const;
  // Declares `value` the output of the open module (what a tap on its path gives) and returns it. A suffix
  // names one of several outputs (".encoder_hidden_states").
  Value module_output(Value value, std::string_view suffix = "");

  Value input(const std::string& name, ValueType type);
  // `name` is relative to the path. Without a recipe: the stored tensor of that very name and shape.
  Value parameter(std::string_view name, const Shape& shape);
  Value parameter(std::string_view name, const Shape& shape, Recipe recipe);
  void output(const std::string& name, Value value);

  Value add_node(Op op, const std::vector<Value>& operands);

  Value linear(Value x, Value weight, Value bias = {});
  Value conv2d(Value x, Value weight, Value bias, op::Conv2d attributes);
  Value group_norm(Value x, Value weight, Value bias, std::int64_t groups, double eps);
  Value layer_norm(Value x, double eps, Value weight = {}, Value bias = {});
  Value rms_norm(Value x, Value weight, double eps);
  Value attention(Value q, Value k, Value v, Value bias, double scale, bool causal = false);
  Value unary(op::UnaryKind kind, Value x);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value affine(Value x, double scale, double offset);
  Value reshape(Value x, Shape shape);
  Value transpose(Value x, std::vector<int> axes);
  Value concat(const std::vector<Value>& parts, int axis);
  Value slice(Value x, int axis, std::int64_t begin, std::int64_t end);
  Value broadcast(Value x, Shape shape);
  Value upsample_nearest(Value x, std::int64_t height, std::int64_t width);
  Value embedding(Value table, Value ids);  // of compute type
  Value convert(Value x, DType dtype);      // itself where it has the type
  Value timestep_embedding(Value t, op::TimestepEmbedding attributes);
  Value linear_combination(Value coefficients, const std::vector<Value>& terms, DType dtype);

  // The graph, without nodes that no output needs. Throws Error(model) listing every missing or misshapen weight.
  [[nodiscard]] Graph finish();

 private:
  Value new_value(ValueType type);

  Graph graph_;
  const WeightFiles* weights_;
  DType compute_;
  std::string path_;
  int block_ = -1;
  std::map<std::string, ValueId> parameter_values_;
  std::vector<std::string> problems_;
};

}  // namespace perfuse::graph
