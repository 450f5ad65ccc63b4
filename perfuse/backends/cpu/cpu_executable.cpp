#include "perfuse/backends/cpu/cpu_executable.h"

#include <algorithm>
#include <map>
#include <set>

#include "perfuse/backends/cpu/cpu_buffer.h"
#include "perfuse/core/error.h"
#include "perfuse/core/threads.h"
#include "perfuse/graph/memory_plan.h"

namespace perfuse::cpu {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr int kNone = -1;

std::size_t index(graph::ValueId id) { return static_cast<std::size_t>(id); }

// What a parameter in plain row-major form needs: the host tensor's own bytes.
class PlainFormat : public runtime::ParameterFormat {
 public:
  [[nodiscard]] std::string id() const override { return "plain"; }
  [[nodiscard]] runtime::BufferPtr prepare(const Tensor& host) const override { return borrow_tensor(host); }
};

const std::shared_ptr<const runtime::ParameterFormat>& plain_format() {
  static const std::shared_ptr<const runtime::ParameterFormat> format = std::make_shared<PlainFormat>();
  return format;
}

}  // namespace

// Decides the place of every value: parameters, inputs and outputs have theirs, the rest share the scratch
// area by lifetime. A reshape is no work: its result lies where its operand lies.
class CpuExecutable::Planner {
 public:
  explicit Planner(const graph::Graph& program)
      : program_(program),
        places_(program.types.size()),
        fixed_(program.types.size(), false),
        parameter_(program.types.size(), kNone),
        root_(program.types.size()) {
    for (std::size_t i = 0; i < root_.size(); ++i) root_[i] = static_cast<graph::ValueId>(i);
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      fix(program.inputs[i].value, {Place::Kind::input, i});
    for (std::size_t i = 0; i < program.parameters.size(); ++i)
      parameter_[index(program.parameters[i].value)] = static_cast<int>(i);
    for (std::size_t i = 0; i < program.outputs.size(); ++i) {
      const auto value = program.outputs[i].value;
      if (!fixed_[index(value)] && !is_parameter(value)) fix(value, {Place::Kind::output, i});
    }
    merge_reshapes();
  }

  [[nodiscard]] bool is_parameter(graph::ValueId id) const { return parameter_[index(id)] != kNone; }
  [[nodiscard]] int parameter(graph::ValueId id) const { return parameter_[index(id)]; }
  // True where the node needs no kernel.
  [[nodiscard]] bool is_alias(const graph::Node& node) const {
    return std::holds_alternative<graph::op::Reshape>(node.op) &&
           (root_[index(node.result)] != node.result || aliased_.contains(node.result));
  }
  [[nodiscard]] Place place(graph::ValueId id) const { return places_[index(root(id))]; }

  // Lays the values that have no fixed place out in the scratch area; returns its size.
  std::size_t plan_scratch() {
    std::map<graph::ValueId, graph::Lifetime> lifetimes;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const auto& node = program_.nodes[i];
      const auto touch = [&](graph::ValueId id) {
        const auto r = root(id);
        if (fixed_[index(r)] || is_parameter(r)) return;
        const int step = static_cast<int>(i);
        const auto [entry, is_new] =
            lifetimes.try_emplace(r, graph::Lifetime{program_.type(r).bytes(), step, step});
        entry->second.last = step;
      };
      for (const auto operand : node.operands) touch(operand);
      touch(node.result);
    }
    std::vector<graph::Lifetime> list;
    list.reserve(lifetimes.size());
    for (const auto& [id, lifetime] : lifetimes) list.push_back(lifetime);
    const auto plan = graph::plan_memory(list);
    std::size_t i = 0;
    for (const auto& [id, lifetime] : lifetimes)
      places_[index(id)] = {Place::Kind::scratch, plan.offsets[i++]};
    return plan.total;
  }

 private:
  [[nodiscard]] graph::ValueId root(graph::ValueId id) const {
    while (root_[index(id)] != id) id = root_[index(id)];
    return id;
  }
  void fix(graph::ValueId id, Place place) {
    places_[index(id)] = place;
    fixed_[index(id)] = true;
  }
  void merge_reshapes() {
    for (const auto& node : program_.nodes) {
      if (!std::holds_alternative<graph::op::Reshape>(node.op)) continue;
      const auto from = root(node.operands[0]);
      if (is_parameter(from)) continue;
      if (!fixed_[index(node.result)]) {
        root_[index(node.result)] = from;
      } else if (!fixed_[index(from)]) {  // the operand is computed in the output's place
        root_[index(from)] = node.result;
        aliased_.insert(node.result);
      }
    }
  }

  const graph::Graph& program_;
  std::vector<Place> places_;
  std::vector<bool> fixed_;
  std::vector<int> parameter_;
  std::vector<graph::ValueId> root_;
  std::set<graph::ValueId> aliased_;  // reshape results that are outputs and share their operand's place
};

CpuExecutable::CpuExecutable(const graph::Graph& program) {
  Planner planner(program);
  values_bytes_ = planner.plan_scratch();

  std::map<std::pair<int, std::string>, std::size_t> use_index;
  const auto use_parameter = [&](int parameter, std::shared_ptr<const runtime::ParameterFormat> format) {
    if (!format) format = plain_format();
    const auto [entry, is_new] = use_index.try_emplace({parameter, format->id()}, uses_.size());
    if (is_new) uses_.push_back({parameter, std::move(format)});
    return Place{Place::Kind::parameter, entry->second};
  };

  for (const auto& node : program.nodes) {
    if (planner.is_alias(node)) continue;
    NodeInfo info;
    for (const auto operand : node.operands) {
      info.operands.push_back(program.type(operand));
      info.is_parameter.push_back(planner.is_parameter(operand));
    }
    info.result = program.type(node.result);
    ChosenKernel chosen = choose_kernel(node.op, info);
    choices_.push_back(
        {node.path + ": " + graph::to_string(node.op), std::string(chosen.name), std::move(chosen.refusals)});

    Step step;
    for (std::size_t i = 0; i < node.operands.size(); ++i)
      step.operands.push_back(
          info.is_parameter[i] ? use_parameter(planner.parameter(node.operands[i]), chosen.kernel->format(i))
                               : planner.place(node.operands[i]));
    step.result = planner.place(node.result);
    kernel_scratch_bytes_ = std::max(kernel_scratch_bytes_, chosen.kernel->scratch_bytes());
    step.kernel = std::move(chosen.kernel);
    steps_.push_back(std::move(step));
  }

  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const auto value = program.outputs[i].value;
    output_types_.push_back(program.type(value));
    if (planner.is_parameter(value))
      passed_through_.emplace_back(i, use_parameter(planner.parameter(value), nullptr));
    else if (const Place place = planner.place(value); place.kind == Place::Kind::input || place.index != i)
      passed_through_.emplace_back(i, place);
  }
}

void CpuExecutable::run(std::span<const runtime::BufferPtr> parameters,
                        std::span<const runtime::InputValue> inputs, std::span<runtime::BufferPtr> outputs,
                        const runtime::BufferPtr& scratch) const {
  apply_num_threads();  // oneDNN asks OpenMP, and this thread may be new
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i]) outputs[i] = allocate_buffer(output_types_[i]);
  std::byte* const area = scratch ? data_of(scratch) : nullptr;
  std::byte* const kernel_area =
      area == nullptr ? nullptr : area + (values_bytes_ + kAlignment - 1) / kAlignment * kAlignment;

  const auto locate = [&](Place place) -> std::byte* {
    switch (place.kind) {
      case Place::Kind::parameter: return data_of(parameters[place.index]);
      case Place::Kind::input: return data_of(inputs[place.index].buffer);
      case Place::Kind::output: return data_of(outputs[place.index]);
      case Place::Kind::scratch: break;
    }
    return area + place.index;
  };

  std::vector<const std::byte*> operands;
  for (const auto& step : steps_) {
    operands.clear();
    for (const auto place : step.operands) operands.push_back(locate(place));
    step.kernel->run({operands, locate(step.result), kernel_area});
  }
  for (const auto& [output, place] : passed_through_)
    std::copy_n(locate(place), output_types_[output].bytes(), data_of(outputs[output]));
}

}  // namespace perfuse::cpu
