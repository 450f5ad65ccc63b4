// HLO modules for tests, written field by field: independent of perfuse's own lowering.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perfuse/graph/type.h"

namespace perfuse::pjrt::test {

// A protobuf message as it is written.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view content) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(content.size());
    bytes_ += content;
    return *this;
  }
  Message& message(int field, const Message& content) { return text(field, content.bytes_); }
  Message& numbers(int field, std::span<const std::int64_t> values) {
    Message packed;
    for (const auto value : values) packed.varint(static_cast<std::uint64_t>(value));
    return text(field, packed.bytes_);
  }
  Message& numbers(int field, std::initializer_list<std::int64_t> values) {
    return numbers(field, std::span(values.begin(), values.size()));
  }
  // Fields of a message may follow in any order.
  void append(const Message& fields) { bytes_ += fields.bytes_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// ShapeProto with the row-major layout.
inline Message shape_of(const graph::ValueType& type) {
  int number = 0;
  switch (type.dtype) {
    case DType::boolean: number = 1; break;
    case DType::i32: number = 4; break;
    case DType::i64: number = 5; break;
    case DType::u8: number = 6; break;
    case DType::f16: number = 10; break;
    case DType::f32: number = 11; break;
    case DType::f64: number = 12; break;
    case DType::bf16: number = 16; break;
  }
  Message layout;
  std::vector<std::int64_t> order;
  for (int axis = type.rank(); axis-- > 0;) order.push_back(axis);
  if (!order.empty()) layout.numbers(1, order);
  Message shape;
  shape.number(2, number);
  if (!order.empty()) shape.numbers(3, type.shape);
  return shape.message(5, layout);
}

// A module of one computation over parameters (and one that adds, for reductions).
class TinyHlo {
 public:
  using Value = int;

  Value parameter(const graph::ValueType& type) {
    Message extra;
    extra.number(9, static_cast<std::int64_t>(parameters_.size()));
    parameters_.push_back(type);
    return add("parameter", type, {}, extra);
  }
  Value binary(const std::string& opcode, Value a, Value b) { return add(opcode, types_[id(a)], {a, b}); }
  Value unary(const std::string& opcode, Value a) { return add(opcode, types_[id(a)], {a}); }
  // Matrices [m, k] × [k, n].
  Value dot(Value a, Value b) {
    Message numbers, extra;
    numbers.numbers(1, {1}).numbers(2, {0});
    extra.message(30, numbers);
    return add("dot", {types_[id(a)].dtype, {types_[id(a)].shape[0], types_[id(b)].shape[1]}}, {a, b}, extra);
  }
  // The sum over all replicas.
  Value all_reduce(Value a) {
    Message extra;
    extra.numbers(38, {kAddition});
    needs_addition_ = true;
    return add("all-reduce", types_[id(a)], {a}, extra);
  }
  // Output `output` may take over the memory of parameter `parameter`.
  void alias(std::int64_t output, std::int64_t parameter) { aliases_.emplace_back(output, parameter); }

  // The serialized HloModuleProto; outputs come as a tuple.
  [[nodiscard]] std::string module(const std::vector<Value>& outputs) {
    Message tuple_shape;
    tuple_shape.number(2, 13);
    for (const auto output : outputs) tuple_shape.message(4, shape_of(types_[id(output)]));
    Message entry_shape;
    for (const auto& type : parameters_) entry_shape.message(1, shape_of(type));
    entry_shape.message(2, tuple_shape);
    for (std::size_t i = 0; i < parameters_.size(); ++i) entry_shape.text(3, fmt::format("p{}", i));

    Message tuple = instruction("tuple", static_cast<int>(types_.size()), tuple_shape, outputs);
    Message entry;
    entry.text(1, "main");
    for (const auto& written : instructions_) entry.message(2, written);
    entry.message(2, tuple).message(4, entry_shape).number(5, kEntry);
    entry.number(6, static_cast<std::int64_t>(types_.size()) + 1);

    Message module;
    module.text(1, "tiny").text(2, "main");
    if (needs_addition_) module.message(3, addition());
    module.message(3, entry).message(4, entry_shape).number(6, kEntry);
    if (!aliases_.empty()) {
      Message all;
      for (const auto& [output, parameter] : aliases_) {
        Message one;
        one.numbers(1, {output}).number(2, parameter).number(4, 1);
        all.message(1, one);
      }
      module.message(8, all);
    }
    return module.bytes();
  }
  [[nodiscard]] const std::vector<graph::ValueType>& parameters() const { return parameters_; }
  [[nodiscard]] const graph::ValueType& type(Value value) const { return types_[id(value)]; }

 private:
  static constexpr std::int64_t kAddition = 1, kEntry = 2;

  static std::size_t id(Value value) { return static_cast<std::size_t>(value); }
  static Message instruction(const std::string& opcode, int number, const Message& shape,
                             const std::vector<Value>& operands) {
    Message message;
    message.text(1, fmt::format("{}.{}", opcode, number)).text(2, opcode).message(3, shape);
    message.number(35, number + 1);
    std::vector<std::int64_t> ids;
    for (const auto operand : operands) ids.push_back(operand + 1);
    if (!ids.empty()) message.numbers(36, ids);
    return message;
  }
  Value add(const std::string& opcode, const graph::ValueType& type, const std::vector<Value>& operands,
            const Message& extra = {}) {
    const int number = static_cast<int>(types_.size());
    Message& written = instructions_.emplace_back(instruction(opcode, number, shape_of(type), operands));
    written.append(extra);
    types_.push_back(type);
    return number;
  }
  Message addition() const {
    const Message scalar = shape_of({types_.front().dtype, {}});
    Message shape;
    shape.message(1, scalar).message(1, scalar).message(2, scalar).text(3, "a").text(3, "b");
    Message a = instruction("parameter", 1000, scalar, {}), b = instruction("parameter", 1001, scalar, {});
    Message zero, one;
    a.append(zero.number(9, 0));
    b.append(one.number(9, 1));
    Message computation;
    computation.text(1, "addition").message(2, a).message(2, b);
    computation.message(2, instruction("add", 1002, scalar, {1000, 1001})).message(4, shape);
    return computation.number(5, kAddition).number(6, 1003);
  }

  std::vector<Message> instructions_;
  std::vector<graph::ValueType> types_, parameters_;
  std::vector<std::pair<std::int64_t, std::int64_t>> aliases_;
  bool needs_addition_ = false;
};

// CompileOptionsProto for that many replicas.
inline std::string compile_options(int replicas = 1) {
  Message build, options;
  build.number(4, replicas).number(5, 1);
  return options.message(3, build).bytes();
}

}  // namespace perfuse::pjrt::test
