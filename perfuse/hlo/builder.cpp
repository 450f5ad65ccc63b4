#include "perfuse/hlo/builder.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "perfuse/core/error.h"
#include "perfuse/tensor/half.h"

namespace perfuse::hlo {
namespace {

constexpr std::int64_t kInstructionsPerReducer = 3;

// proto3 leaves a field out where it is zero; array fields are packed.
template <class Field> void assign(Field* field, const Axes& values) {
  field->Assign(values.begin(), values.end());
}

proto::ShapeProto plain_shape(const graph::ValueType& type) {
  auto shape = shape_proto(type);
  shape.clear_layout();
  return shape;
}

template <class T> std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, bytes.data());
  return bytes;
}

std::string_view direction(Comparison comparison) {
  switch (comparison) {
    case Comparison::less: return "LT";
    case Comparison::less_or_equal: return "LE";
    case Comparison::greater: return "GT";
    case Comparison::not_equal: break;
  }
  return "NE";
}

std::string_view opcode_of(Reduction reduction) { return reduction == Reduction::sum ? "add" : "maximum"; }

// What a reduction starts from; i32 and the half types have their own least value.
double start_of(Reduction reduction) {
  return reduction == Reduction::sum ? 0.0 : -std::numeric_limits<double>::infinity();
}

}  // namespace

proto::PrimitiveType primitive_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return proto::F32;
    case DType::bf16: return proto::BF16;
    case DType::f16: return proto::F16;
    case DType::i32: return proto::S32;
    case DType::u8: return proto::U8;
    case DType::boolean: return proto::PRED;
    case DType::i64:
    case DType::f64: break;
  }
  fail(ErrorKind::usage, "hlo: a value of type {}; programs have f32, bf16, f16, i32, u8 and bool",
       to_string(dtype));
}

proto::ShapeProto shape_proto(const graph::ValueType& type) {
  proto::ShapeProto shape;
  shape.set_element_type(primitive_type(type.dtype));
  assign(shape.mutable_dimensions(), type.shape);
  for (int i = 0; i < type.rank(); ++i) shape.add_is_dynamic_dimension(false);
  auto& layout = *shape.mutable_layout();
  for (int i = type.rank() - 1; i >= 0; --i) layout.add_minor_to_major(i);
  layout.set_tail_padding_alignment_in_elements(1);
  return shape;
}

std::string serialize(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  if (!message.SerializeToCodedStream(&coded)) fail(ErrorKind::compiler, "hlo: the program is over 2 GiB");
  coded.Trim();
  return bytes;
}

proto::HloInstructionProto& Builder::add(std::string_view opcode, const graph::ValueType& type,
                                         std::span<const Value> operands) {
  auto& instruction = *entry_.add_instructions();
  instruction.set_id(entry_.instructions_size() - 1);
  instruction.set_opcode(std::string(opcode));
  *instruction.mutable_shape() = shape_proto(type);
  for (const auto& operand : operands) instruction.add_operand_ids(operand.id);
  if (opcode != "parameter") instruction.set_name(fmt::format("op{}", operations_++));
  return instruction;
}

Value Builder::value_of(const proto::HloInstructionProto& instruction, graph::ValueType type) const {
  return {instruction.id(), std::move(type)};
}

Value Builder::input(const graph::ValueType& type) {
  auto& instruction = add("parameter", type, {});
  instruction.set_name(fmt::format("input{}", inputs_.size()));
  instruction.set_parameter_number(static_cast<std::int64_t>(inputs_.size()));
  (*instruction.mutable_frontend_attributes()->mutable_map())["neff_input_names"] = instruction.name();
  inputs_.push_back(type);
  return value_of(instruction, type);
}

Value Builder::constant(DType dtype, double value) {
  const graph::ValueType type{dtype, {}};
  auto& instruction = add("constant", type, {});
  auto& literal = *instruction.mutable_literal();
  *literal.mutable_shape() = shape_proto(type);
  switch (dtype) {
    case DType::f32: literal.add_f32s(static_cast<float>(value)); break;
    case DType::bf16: literal.set_bf16s(bytes_of(bfloat16(static_cast<float>(value)))); break;
    case DType::f16: literal.set_f16s(bytes_of(float16(static_cast<float>(value)))); break;
    case DType::i32: literal.add_s32s(static_cast<std::int32_t>(value)); break;
    case DType::u8: literal.set_u8s(bytes_of(static_cast<std::uint8_t>(value))); break;
    default: literal.add_preds(value != 0.0); break;
  }
  return value_of(instruction, type);
}

Value Builder::constant(const Shape& shape, std::span<const float> values) {
  const graph::ValueType type{DType::f32, shape};
  auto& instruction = add("constant", type, {});
  *instruction.mutable_literal()->mutable_shape() = shape_proto(type);
  instruction.mutable_literal()->mutable_f32s()->Assign(values.begin(), values.end());
  return value_of(instruction, type);
}

Value Builder::constant(const Shape& shape, std::span<const std::int32_t> values) {
  const graph::ValueType type{DType::i32, shape};
  auto& instruction = add("constant", type, {});
  *instruction.mutable_literal()->mutable_shape() = shape_proto(type);
  instruction.mutable_literal()->mutable_s32s()->Assign(values.begin(), values.end());
  return value_of(instruction, type);
}

Value Builder::iota(const Shape& shape, std::int64_t axis) {
  const graph::ValueType type{DType::i32, shape};
  auto& instruction = add("iota", type, {});
  instruction.add_dimensions(axis);
  return value_of(instruction, type);
}

Value Builder::unary(std::string_view opcode, Value x) {
  return value_of(add(opcode, x.type, {&x, 1}), x.type);
}

Value Builder::binary(std::string_view opcode, Value a, Value b) {
  const std::array operands{a, b};
  return value_of(add(opcode, a.type, operands), a.type);
}

Value Builder::binary(std::string_view opcode, Value a, double b) {
  return binary(opcode, a, splat(constant(a.dtype(), b), a.shape()));
}

Value Builder::compare(Comparison comparison, Value a, Value b) {
  const graph::ValueType type{DType::boolean, a.shape()};
  const std::array operands{a, b};
  auto& instruction = add("compare", type, operands);
  instruction.set_comparison_direction(std::string(direction(comparison)));
  return value_of(instruction, type);
}

Value Builder::select(Value condition, Value if_true, Value if_false) {
  const std::array operands{condition, if_true, if_false};
  return value_of(add("select", if_true.type, operands), if_true.type);
}

Value Builder::clamp(double least, Value x, double most) {
  const std::array operands{constant(x.dtype(), least), x, constant(x.dtype(), most)};
  return value_of(add("clamp", x.type, operands), x.type);
}

Value Builder::convert(Value x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const graph::ValueType type{dtype, x.shape()};
  return value_of(add("convert", type, {&x, 1}), type);
}

Value Builder::broadcast(Value x, const Shape& shape, Axes axes) {
  if (x.shape() == shape) return x;
  const graph::ValueType type{x.dtype(), shape};
  auto& instruction = add("broadcast", type, {&x, 1});
  assign(instruction.mutable_dimensions(), axes);
  return value_of(instruction, type);
}

Value Builder::reshape(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const graph::ValueType type{x.dtype(), shape};
  return value_of(add("reshape", type, {&x, 1}), type);
}

Value Builder::transpose(Value x, const Axes& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  graph::ValueType type{x.dtype(), {}};
  for (const auto axis : axes) type.shape.push_back(x.dim(static_cast<int>(axis)));
  auto& instruction = add("transpose", type, {&x, 1});
  assign(instruction.mutable_dimensions(), axes);
  return value_of(instruction, type);
}

Value Builder::slice(Value x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  graph::ValueType type = x.type;
  if (begin == 0 && end == x.dim(static_cast<int>(axis))) return x;
  type.shape[static_cast<std::size_t>(axis)] = end - begin;
  auto& instruction = add("slice", type, {&x, 1});
  for (int i = 0; i < x.rank(); ++i) {
    auto& dimension = *instruction.add_slice_dimensions();
    dimension.set_start(i == axis ? begin : 0);
    dimension.set_limit(i == axis ? end : x.dim(i));
    dimension.set_stride(1);
  }
  return value_of(instruction, type);
}

Value Builder::concatenate(const std::vector<Value>& parts, std::int64_t axis) {
  if (parts.size() == 1) return parts.front();
  graph::ValueType type = parts.front().type;
  auto& length = type.shape[static_cast<std::size_t>(axis)];
  length = 0;
  for (const auto& part : parts) length += part.dim(static_cast<int>(axis));
  auto& instruction = add("concatenate", type, parts);
  instruction.add_dimensions(axis);
  return value_of(instruction, type);
}

Value Builder::reduce(Reduction reduction, Value x, const Axes& axes) {
  graph::ValueType type{x.dtype(), {}};
  for (int i = 0; i < x.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) type.shape.push_back(x.dim(i));
  const std::array operands{x, constant(x.dtype(), start_of(reduction))};
  auto& instruction = add("reduce", type, operands);
  assign(instruction.mutable_dimensions(), axes);
  instruction.add_called_computation_ids(reducer(reduction, x.dtype()));
  return value_of(instruction, type);
}

Value Builder::dot(Value lhs, Value rhs, const DotAxes& axes, DType result) {
  graph::ValueType type{result, {}};
  const auto contains = [](const Axes& list, int axis) {
    return std::find(list.begin(), list.end(), axis) != list.end();
  };
  for (const auto axis : axes.lhs_batch) type.shape.push_back(lhs.dim(static_cast<int>(axis)));
  for (int i = 0; i < lhs.rank(); ++i)
    if (!contains(axes.lhs_batch, i) && !contains(axes.lhs_contracting, i)) type.shape.push_back(lhs.dim(i));
  for (int i = 0; i < rhs.rank(); ++i)
    if (!contains(axes.rhs_batch, i) && !contains(axes.rhs_contracting, i)) type.shape.push_back(rhs.dim(i));
  const std::array operands{lhs, rhs};
  auto& instruction = add("dot", type, operands);
  auto& numbers = *instruction.mutable_dot_dimension_numbers();
  assign(numbers.mutable_lhs_contracting_dimensions(), axes.lhs_contracting);
  assign(numbers.mutable_rhs_contracting_dimensions(), axes.rhs_contracting);
  assign(numbers.mutable_lhs_batch_dimensions(), axes.lhs_batch);
  assign(numbers.mutable_rhs_batch_dimensions(), axes.rhs_batch);
  if (exact_f32_ && lhs.dtype() == DType::f32)
    for (int i = 0; i < 2; ++i)
      instruction.mutable_precision_config()->add_operand_precision(proto::PrecisionConfig::HIGHEST);
  return value_of(instruction, type);
}

Value Builder::convolution(Value x, Value kernel, const ConvolutionWindow& w, DType result) {
  const auto height = kernel.dim(w.kernel_height), width = kernel.dim(w.kernel_width);
  const graph::ValueType type{
      result,
      {x.dim(0), (x.dim(1) + w.pad_top + w.pad_bottom - height) / w.stride + 1,
       (x.dim(2) + w.pad_left + w.pad_right - width) / w.stride + 1, kernel.dim(w.kernel_output)}};
  const std::array operands{x, kernel};
  auto& instruction = add("convolution", type, operands);
  const auto dimension = [&](std::int64_t size, std::int64_t low, std::int64_t high) {
    auto& d = *instruction.mutable_window()->add_dimensions();
    d.set_size(size), d.set_stride(w.stride), d.set_padding_low(low), d.set_padding_high(high);
    d.set_window_dilation(1), d.set_base_dilation(1);
  };
  dimension(height, w.pad_top, w.pad_bottom);
  dimension(width, w.pad_left, w.pad_right);
  auto& numbers = *instruction.mutable_convolution_dimension_numbers();
  numbers.set_input_batch_dimension(0), numbers.set_input_feature_dimension(3);
  numbers.set_output_batch_dimension(0), numbers.set_output_feature_dimension(3);
  for (const std::int64_t axis : {1, 2})
    numbers.add_input_spatial_dimensions(axis), numbers.add_output_spatial_dimensions(axis);
  numbers.set_kernel_input_feature_dimension(w.kernel_input);
  numbers.set_kernel_output_feature_dimension(w.kernel_output);
  numbers.add_kernel_spatial_dimensions(w.kernel_height),
      numbers.add_kernel_spatial_dimensions(w.kernel_width);
  instruction.set_feature_group_count(w.groups);
  instruction.set_batch_group_count(1);
  if (exact_f32_ && x.dtype() == DType::f32)
    for (int i = 0; i < 2; ++i)
      instruction.mutable_precision_config()->add_operand_precision(proto::PrecisionConfig::HIGHEST);
  return value_of(instruction, type);
}

Value Builder::take_rows(Value table, Value ids) {
  graph::ValueType type{table.dtype(), ids.shape()};
  type.shape.insert(type.shape.end(), table.shape().begin() + 1, table.shape().end());
  const std::array operands{table, ids};
  auto& instruction = add("gather", type, operands);
  auto& numbers = *instruction.mutable_gather_dimension_numbers();
  numbers.add_collapsed_slice_dims(0);
  numbers.add_start_index_map(0);
  numbers.set_index_vector_dim(ids.rank());
  instruction.add_gather_slice_sizes(1);
  for (int i = 1; i < table.rank(); ++i) {
    numbers.add_offset_dims(ids.rank() + i - 1);
    instruction.add_gather_slice_sizes(table.dim(i));
  }
  return value_of(instruction, type);
}

std::int64_t Builder::reducer(Reduction reduction, DType dtype) {
  const std::pair key{reduction, dtype};
  const auto found = std::find(reducers_.begin(), reducers_.end(), key);
  if (found != reducers_.end()) return found - reducers_.begin();
  reducers_.push_back(key);
  return static_cast<std::int64_t>(reducers_.size()) - 1;
}

void Builder::emit_reducers() {
  std::int64_t id = 0;
  for (const auto& [reduction, dtype] : reducers_) {
    auto& computation = *module_.add_computations();
    const auto name = fmt::format("{}_{}_computation", opcode_of(reduction), to_string(dtype));
    const auto shape = shape_proto({dtype, {}});
    computation.set_id(module_.computations_size() - 1);
    computation.set_name(name);
    for (int i = 0; i < 2; ++i) {
      auto& parameter = *computation.add_instructions();
      parameter.set_id(id++);
      parameter.set_opcode("parameter");
      parameter.set_name(
          fmt::format("{}_{}_{}", opcode_of(reduction), to_string(dtype), i == 0 ? "lhs" : "rhs"));
      parameter.set_parameter_number(i);
      *parameter.mutable_shape() = shape;
      *computation.mutable_program_shape()->add_parameters() = plain_shape({dtype, {}});
      computation.mutable_program_shape()->add_parameter_names("param");
    }
    auto& result = *computation.add_instructions();
    result.set_id(id++);
    result.set_opcode(std::string(opcode_of(reduction)));
    result.set_name(fmt::format("{}_{}_result", opcode_of(reduction), to_string(dtype)));
    result.add_operand_ids(id - 3), result.add_operand_ids(id - 2);
    *result.mutable_shape() = shape;
    *computation.mutable_program_shape()->mutable_result() = plain_shape({dtype, {}});
    computation.set_root_id(id - 1);
  }
}

proto::HloModuleProto Builder::finish(const std::vector<Value>& outputs, const std::vector<Alias>& aliases) {
  if (outputs.empty()) fail(ErrorKind::usage, "hlo: {}: a program without outputs", module_.name());
  const auto is_parameter = [&](const Value& value) {
    return entry_.instructions(static_cast<int>(value.id)).opcode() == "parameter";
  };
  std::string names;
  for (std::size_t i = 0; i < outputs.size(); ++i) names += fmt::format("{}output{}", i == 0 ? "" : ",", i);

  // A result never lies in a parameter's memory: such an output is a copy.
  if (outputs.size() == 1) {
    add("copy", outputs[0].type, outputs);
  } else {
    std::vector<Value> results = outputs;
    for (auto& result : results)
      if (is_parameter(result)) result = unary("copy", result);
    auto& tuple = add("tuple", {DType::f32, {}}, results);
    auto& shape = *tuple.mutable_shape();
    shape.Clear();
    shape.set_element_type(proto::TUPLE);
    for (const auto& result : results) *shape.add_tuple_shapes() = shape_proto(result.type);
  }
  auto& root = *entry_.mutable_instructions(entry_.instructions_size() - 1);
  root.set_name("result");
  (*root.mutable_frontend_attributes()->mutable_map())["neff_output_names"] = names;

  emit_reducers();
  const auto first = static_cast<std::int64_t>(reducers_.size()) * kInstructionsPerReducer;
  for (auto& instruction : *entry_.mutable_instructions()) {
    instruction.set_id(instruction.id() + first);
    for (auto& operand : *instruction.mutable_operand_ids()) operand += first;
  }
  entry_.set_name("main");
  entry_.set_id(module_.computations_size());
  entry_.set_root_id(root.id());
  auto& program = *entry_.mutable_program_shape();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    *program.add_parameters() = plain_shape(inputs_[i]);
    program.add_parameter_names(fmt::format("input{}", i));
  }
  *program.mutable_result() = outputs.size() == 1 ? plain_shape(outputs[0].type) : root.shape();
  *module_.mutable_host_program_shape() = program;
  module_.set_entry_computation_name("main");
  module_.set_entry_computation_id(entry_.id());
  *module_.add_computations() = std::move(entry_);
  for (const auto& [output, input] : aliases) {
    auto& entry = *module_.mutable_input_output_alias()->add_entries();
    if (outputs.size() > 1) entry.add_output_shape_index(output);
    entry.set_parameter_number(input);
    entry.set_kind(proto::MAY_ALIAS);
  }
  return std::move(module_);
}

}  // namespace perfuse::hlo
