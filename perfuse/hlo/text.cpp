#include "perfuse/hlo/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/hlo/hlo.pb.h"
#include "perfuse/tensor/half.h"

namespace perfuse::hlo {
namespace {

std::string_view type_name(proto::PrimitiveType type) {
  switch (type) {
    case proto::PRED: return "pred";
    case proto::S8: return "s8";
    case proto::S32: return "s32";
    case proto::U8: return "u8";
    case proto::U32: return "u32";
    case proto::F16: return "f16";
    case proto::F32: return "f32";
    case proto::BF16: return "bf16";
    default: return "opaque";
  }
}

// "f32[2,3]{1,0}"; a tuple's elements in parentheses.
std::string shape_text(const proto::ShapeProto& shape) {
  if (shape.element_type() == proto::TUPLE) {
    std::vector<std::string> elements;
    for (const auto& element : shape.tuple_shapes()) elements.push_back(shape_text(element));
    return fmt::format("({})", fmt::join(elements, ", "));
  }
  std::string text =
      fmt::format("{}[{}]", type_name(shape.element_type()), fmt::join(shape.dimensions(), ","));
  if (shape.layout().minor_to_major_size() > 0)
    text += fmt::format("{{{}}}", fmt::join(shape.layout().minor_to_major(), ","));
  return text;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return fmt::format("{}", static_cast<float>(value));
}

template <class Half> std::vector<std::string> half_texts(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + sizeof(Half) <= bytes.size(); i += sizeof(Half)) {
    Half value;
    std::memcpy(&value, bytes.data() + i, sizeof value);
    texts.push_back(number_text(static_cast<double>(static_cast<float>(value))));
  }
  return texts;
}

std::vector<std::string> element_texts(const proto::LiteralProto& literal) {
  std::vector<std::string> texts;
  for (const auto value : literal.f32s()) texts.push_back(number_text(static_cast<double>(value)));
  for (const auto value : literal.s32s()) texts.push_back(fmt::format("{}", value));
  for (const auto value : literal.u32s()) texts.push_back(fmt::format("{}", value));
  for (const auto value : literal.preds()) texts.push_back(value ? "true" : "false");
  for (const auto value : literal.u8s())
    texts.push_back(fmt::format("{}", static_cast<unsigned char>(value)));
  if (texts.empty() && !literal.bf16s().empty()) texts = half_texts<bfloat16>(literal.bf16s());
  if (texts.empty() && !literal.f16s().empty()) texts = half_texts<float16>(literal.f16s());
  return texts;
}

// A scalar, or a vector in braces: constants have no higher rank here.
std::string literal_text(const proto::LiteralProto& literal) {
  const auto elements = fmt::format("{}", fmt::join(element_texts(literal), ", "));
  return literal.shape().dimensions_size() == 0 ? elements : fmt::format("{{{}}}", elements);
}

std::string window_text(const proto::Window& window) {
  std::vector<std::string> sizes, strides, paddings;
  bool strided = false, padded = false;
  for (const auto& d : window.dimensions()) {
    sizes.push_back(fmt::format("{}", d.size()));
    strides.push_back(fmt::format("{}", d.stride()));
    paddings.push_back(fmt::format("{}_{}", d.padding_low(), d.padding_high()));
    strided = strided || d.stride() != 1;
    padded = padded || d.padding_low() != 0 || d.padding_high() != 0;
  }
  std::string text = fmt::format("size={}", fmt::join(sizes, "x"));
  if (strided) text += fmt::format(" stride={}", fmt::join(strides, "x"));
  if (padded) text += fmt::format(" pad={}", fmt::join(paddings, "x"));
  return text;
}

// "b01f_01io->b01f": batch, feature and spatial axes in order.
std::string convolution_text(const proto::ConvolutionDimensionNumbers& numbers) {
  const auto labels = [](std::int64_t first, char first_name, std::int64_t second, char second_name,
                         const auto& spatial) {
    std::string text(static_cast<std::size_t>(spatial.size()) + 2, '?');
    text[static_cast<std::size_t>(first)] = first_name;
    text[static_cast<std::size_t>(second)] = second_name;
    for (int i = 0; i < spatial.size(); ++i)
      text[static_cast<std::size_t>(spatial[i])] = static_cast<char>('0' + i);
    return text;
  };
  return fmt::format(
      "{}_{}->{}",
      labels(numbers.input_batch_dimension(), 'b', numbers.input_feature_dimension(), 'f',
             numbers.input_spatial_dimensions()),
      labels(numbers.kernel_input_feature_dimension(), 'i', numbers.kernel_output_feature_dimension(), 'o',
             numbers.kernel_spatial_dimensions()),
      labels(numbers.output_batch_dimension(), 'b', numbers.output_feature_dimension(), 'f',
             numbers.output_spatial_dimensions()));
}

using Names = std::map<std::int64_t, std::string>;

std::string attributes_text(const proto::HloInstructionProto& i, const Names& computations) {
  std::string text;
  const auto attribute = [&](std::string_view name, const auto& value) {
    text += fmt::format(", {}={}", name, value);
  };
  const auto list = [&](std::string_view name, const auto& values) {
    if (values.size() > 0) attribute(name, fmt::format("{{{}}}", fmt::join(values, ",")));
  };
  if (i.opcode() == "iota")
    attribute("iota_dimension", i.dimensions(0));
  else if (i.dimensions_size() > 0 || i.opcode() == "broadcast")
    attribute("dimensions", fmt::format("{{{}}}", fmt::join(i.dimensions(), ",")));
  if (i.slice_dimensions_size() > 0) {
    std::vector<std::string> parts;
    for (const auto& d : i.slice_dimensions()) parts.push_back(fmt::format("[{}:{}]", d.start(), d.limit()));
    attribute("slice", fmt::format("{{{}}}", fmt::join(parts, ", ")));
  }
  if (i.has_dot_dimension_numbers()) {
    const auto& d = i.dot_dimension_numbers();
    list("lhs_batch_dims", d.lhs_batch_dimensions());
    list("lhs_contracting_dims", d.lhs_contracting_dimensions());
    list("rhs_batch_dims", d.rhs_batch_dimensions());
    list("rhs_contracting_dims", d.rhs_contracting_dimensions());
  }
  if (i.has_convolution_dimension_numbers()) {
    attribute("window", fmt::format("{{{}}}", window_text(i.window())));
    attribute("dim_labels", convolution_text(i.convolution_dimension_numbers()));
    if (i.feature_group_count() > 1) attribute("feature_group_count", i.feature_group_count());
  }
  if (i.has_gather_dimension_numbers()) {
    const auto& d = i.gather_dimension_numbers();
    text += fmt::format(
        ", offset_dims={{{}}}, collapsed_slice_dims={{{}}}, start_index_map={{{}}}, index_vector_dim={}",
        fmt::join(d.offset_dims(), ","), fmt::join(d.collapsed_slice_dims(), ","),
        fmt::join(d.start_index_map(), ","), d.index_vector_dim());
    list("slice_sizes", i.gather_slice_sizes());
  }
  if (!i.comparison_direction().empty()) attribute("direction", i.comparison_direction());
  if (i.precision_config().operand_precision_size() > 0) {
    std::vector<std::string_view> names;
    for (const auto p : i.precision_config().operand_precision())
      names.push_back(p == proto::PrecisionConfig::HIGHEST ? "highest"
                      : p == proto::PrecisionConfig::HIGH  ? "high"
                                                           : "default");
    attribute("operand_precision", fmt::format("{{{}}}", fmt::join(names, ",")));
  }
  for (const auto id : i.called_computation_ids()) attribute("to_apply", computations.at(id));
  if (i.frontend_attributes().map_size() > 0) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : i.frontend_attributes().map())
      pairs.push_back(fmt::format("{}=\"{}\"", key, value));
    std::sort(pairs.begin(), pairs.end());
    attribute("frontend_attributes", fmt::format("{{{}}}", fmt::join(pairs, ",")));
  }
  return text;
}

std::string computation_text(const proto::HloComputationProto& computation, const Names& computations,
                             bool entry) {
  std::string text = fmt::format("{}{} {{\n", entry ? "ENTRY " : "", computation.name());
  Names names;
  for (const auto& i : computation.instructions()) {
    names[i.id()] = i.name();
    std::vector<std::string_view> operands;
    for (const auto id : i.operand_ids()) operands.push_back(names.at(id));
    std::string arguments = fmt::format("{}", fmt::join(operands, ", "));
    if (i.opcode() == "parameter") arguments = fmt::format("{}", i.parameter_number());
    if (i.opcode() == "constant") arguments = literal_text(i.literal());
    text += fmt::format("  {}{} = {} {}({}){}\n", i.id() == computation.root_id() ? "ROOT " : "", i.name(),
                        shape_text(i.shape()), i.opcode(), arguments, attributes_text(i, computations));
  }
  text += "}\n";
  return text;
}

std::string alias_text(const proto::HloInputOutputAliasProto& aliases) {
  std::vector<std::string> entries;
  for (const auto& entry : aliases.entries())
    entries.push_back(fmt::format("{{{}}}: ({}, {{}}, may-alias)", fmt::join(entry.output_shape_index(), ","),
                                  entry.parameter_number()));
  return entries.empty() ? "" : fmt::format(", input_output_alias={{ {} }}", fmt::join(entries, ", "));
}

}  // namespace

std::string to_text(std::string_view program) {
  proto::HloModuleProto module;
  if (!module.ParseFromArray(program.data(), static_cast<int>(program.size())))
    fail(ErrorKind::compiler, "hlo: {} bytes are not a program", program.size());
  std::string text = fmt::format("HloModule {}{}\n", module.name(), alias_text(module.input_output_alias()));
  Names names;
  for (const auto& computation : module.computations()) names[computation.id()] = computation.name();
  for (const auto& computation : module.computations())
    text += fmt::format(
        "\n{}", computation_text(computation, names, computation.id() == module.entry_computation_id()));
  return text;
}

}  // namespace perfuse::hlo
