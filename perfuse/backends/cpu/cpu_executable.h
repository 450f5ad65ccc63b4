// A program on the CPU: its kernels in order, and where each value lies.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/graph/graph.h"

namespace perfuse::cpu {

class CpuExecutable : public runtime::Executable {
 public:
  explicit CpuExecutable(const graph::Graph& program);

  [[nodiscard]] const std::vector<runtime::ParameterUse>& parameter_uses() const override { return uses_; }
  [[nodiscard]] std::size_t scratch_bytes() const override { return values_bytes_ + kernel_scratch_bytes_; }
  void run(std::span<const runtime::BufferPtr> parameters, std::span<const runtime::InputValue> inputs,
           std::span<runtime::BufferPtr> outputs, const runtime::BufferPtr& scratch) const override;
  [[nodiscard]] std::vector<runtime::KernelChoice> explain() const override { return choices_; }

 private:
  // Where a value lies while the program runs.
  struct Place {
    enum class Kind { parameter, input, output, scratch } kind = Kind::scratch;
    std::size_t index = 0;  // into uses, inputs, outputs; a byte offset for scratch
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> operands;
    Place result;
  };
  class Planner;

  std::vector<Step> steps_;
  std::vector<runtime::ParameterUse> uses_;
  std::vector<graph::ValueType> output_types_;
  // Outputs that are an input or parameter unchanged: handed on as they are.
  std::vector<std::pair<std::size_t, Place>> passed_through_;
  std::vector<runtime::KernelChoice> choices_;
  std::size_t values_bytes_ = 0;  // values that live within the program, at the front of the scratch area
  std::size_t kernel_scratch_bytes_ = 0;
};

}  // namespace perfuse::cpu
