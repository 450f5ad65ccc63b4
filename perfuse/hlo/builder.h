// Writes an HLO program instruction by instruction: ids, names, layouts and the tables around them are kept here,
// so that a lowering says only what is computed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perfuse/graph/type.h"
#include "perfuse/hlo/hlo.pb.h"

namespace perfuse::hlo {

// The result of an instruction.
struct Value {
  std::int64_t id = -1;
  graph::ValueType type;

  [[nodiscard]] const Shape& shape() const { return type.shape; }
  [[nodiscard]] DType dtype() const { return type.dtype; }
  [[nodiscard]] int rank() const { return type.rank(); }
  [[nodiscard]] std::int64_t dim(int axis) const { return type.shape[static_cast<std::size_t>(axis)]; }
};

using Axes = std::vector<std::int64_t>;

struct DotAxes {
  Axes lhs_contracting, rhs_contracting, lhs_batch, rhs_batch;
};

// Of an image convolution, NHWC in and out. The kernel's axes are where its format has them.
struct ConvolutionWindow {
  std::int64_t stride = 1, pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0, groups = 1;
  int kernel_output = 0, kernel_height = 1, kernel_width = 2, kernel_input = 3;
};

enum class Reduction { sum, maximum };
enum class Comparison { less, less_or_equal, greater, not_equal };

class Builder {
 public:
  // With `exact_f32`, products of f32 ask for full precision (devices would otherwise use TF32 or bf16).
  Builder(std::string name, bool exact_f32) : exact_f32_(exact_f32) { module_.set_name(std::move(name)); }

  // Entry parameters, named input0, input1, …
  Value input(const graph::ValueType& type);

  Value constant(DType dtype, double value);
  Value constant(const Shape& shape, std::span<const float> values);
  Value constant(const Shape& shape, std::span<const std::int32_t> values);
  Value iota(const Shape& shape, std::int64_t axis);  // i32

  // "negate", "exponential", "logistic", …
  Value unary(std::string_view opcode, Value x);
  // "add", "multiply", …: two operands of one type.
  Value binary(std::string_view opcode, Value a, Value b);
  // With a scalar, repeated.
  Value binary(std::string_view opcode, Value a, double b);
  Value compare(Comparison comparison, Value a, Value b);
  Value select(Value condition, Value if_true, Value if_false);
  Value clamp(double least, Value x, double most);
  Value convert(Value x, DType dtype);  // itself where it has the type

  // x's axis i becomes axis axes[i] of the result; the others repeat.
  Value broadcast(Value x, const Shape& shape, Axes axes);
  Value splat(Value scalar, const Shape& shape) { return broadcast(std::move(scalar), shape, {}); }
  Value reshape(Value x, const Shape& shape);  // itself where it has the shape
  Value transpose(Value x, const Axes& axes);  // result axis i is x's axes[i]; itself where nothing moves
  Value slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end);
  Value concatenate(const std::vector<Value>& parts, std::int64_t axis);
  // Over `axes`, which the result lacks; in x's type.
  Value reduce(Reduction reduction, Value x, const Axes& axes);
  // Result axes: batch, lhs's free ones, rhs's free ones.
  Value dot(Value lhs, Value rhs, const DotAxes& axes, DType result);
  Value convolution(Value x, Value kernel, const ConvolutionWindow& window, DType result);
  // Slices of `table` along its axis 0; ids i32 of any shape, clamped to the table. [ids…, table's other axes]
  Value take_rows(Value table, Value ids);

  // The program that gives `outputs`, named output0, …, in order. An alias lets an output take an input's memory where
  // the caller gives it away (may-alias).
  struct Alias {
    int output, input;
  };
  [[nodiscard]] proto::HloModuleProto finish(const std::vector<Value>& outputs,
                                             const std::vector<Alias>& aliases);

 private:
  proto::HloInstructionProto& add(std::string_view opcode, const graph::ValueType& type,
                                  std::span<const Value> operands);
  Value value_of(const proto::HloInstructionProto& instruction, graph::ValueType type) const;
  // The two-parameter computation that reductions call; one for each kind and type.
  std::int64_t reducer(Reduction reduction, DType dtype);
  void emit_reducers();

  bool exact_f32_;
  proto::HloModuleProto module_;
  proto::HloComputationProto entry_;
  std::vector<std::pair<Reduction, DType>>
      reducers_;  // in the order of first use; the index is the computation's id
  int operations_ = 0;
  std::vector<graph::ValueType> inputs_;
};

[[nodiscard]] proto::PrimitiveType primitive_type(DType dtype);
// Row-major.
[[nodiscard]] proto::ShapeProto shape_proto(const graph::ValueType& type);
// Bytes that depend on the content alone.
[[nodiscard]] std::string serialize(const google::protobuf::MessageLite& message);

}  // namespace perfuse::hlo
