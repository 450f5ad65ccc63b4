// Kernels: how the CPU runs one node. Each op has an ordered list of candidates; the first that accepts the
// node is taken, and each refusal is a reason that --explain prints.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perfuse/graph/ops.h"
#include "perfuse/runtime/backend.h"

namespace perfuse::cpu {

// Operands in the op's order; rows of a tensor are contiguous, addresses 64-byte aligned for whole values
// (a parameter that lies in a mapped file is aligned to its element only).
struct KernelArgs {
  std::span<const std::byte* const> operands;
  std::byte* result;
  std::byte* scratch;  // scratch_bytes(), 64-byte aligned, contents undefined
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const KernelArgs& args) const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const { return 0; }
  // The format in which operand i, where it is a parameter, is wanted; null means plain row-major.
  [[nodiscard]] virtual std::shared_ptr<const runtime::ParameterFormat> format(std::size_t operand) const;
};

// What a candidate is asked with. Shapes and types are final; `is_parameter[i]` says whether operand i is a
// parameter (and so may be wanted in a format of its own).
struct NodeInfo {
  std::vector<graph::ValueType> operands;
  std::vector<bool> is_parameter;
  graph::ValueType result;
};

// The kernel, or why not.
using Candidate = std::variant<std::unique_ptr<Kernel>, std::string>;

template <class OpType> struct KernelEntry {
  std::string_view name;
  Candidate (*make)(const OpType& op, const NodeInfo& node);
};

// One overload per op, each in the file of its kernel family: the candidates in order of trial.
std::span<const KernelEntry<graph::op::Linear>> kernels(const graph::op::Linear&);
std::span<const KernelEntry<graph::op::Conv2d>> kernels(const graph::op::Conv2d&);
std::span<const KernelEntry<graph::op::GroupNorm>> kernels(const graph::op::GroupNorm&);
std::span<const KernelEntry<graph::op::LayerNorm>> kernels(const graph::op::LayerNorm&);
std::span<const KernelEntry<graph::op::RmsNorm>> kernels(const graph::op::RmsNorm&);
std::span<const KernelEntry<graph::op::Attention>> kernels(const graph::op::Attention&);
std::span<const KernelEntry<graph::op::Unary>> kernels(const graph::op::Unary&);
std::span<const KernelEntry<graph::op::Binary>> kernels(const graph::op::Binary&);
std::span<const KernelEntry<graph::op::Affine>> kernels(const graph::op::Affine&);
std::span<const KernelEntry<graph::op::Clamp>> kernels(const graph::op::Clamp&);
std::span<const KernelEntry<graph::op::Softmax>> kernels(const graph::op::Softmax&);
std::span<const KernelEntry<graph::op::Reshape>> kernels(const graph::op::Reshape&);
std::span<const KernelEntry<graph::op::Transpose>> kernels(const graph::op::Transpose&);
std::span<const KernelEntry<graph::op::Concat>> kernels(const graph::op::Concat&);
std::span<const KernelEntry<graph::op::Slice>> kernels(const graph::op::Slice&);
std::span<const KernelEntry<graph::op::Broadcast>> kernels(const graph::op::Broadcast&);
std::span<const KernelEntry<graph::op::UpsampleNearest>> kernels(const graph::op::UpsampleNearest&);
std::span<const KernelEntry<graph::op::Embedding>> kernels(const graph::op::Embedding&);
std::span<const KernelEntry<graph::op::Convert>> kernels(const graph::op::Convert&);
std::span<const KernelEntry<graph::op::TimestepEmbedding>> kernels(const graph::op::TimestepEmbedding&);
std::span<const KernelEntry<graph::op::LinearCombination>> kernels(const graph::op::LinearCombination&);

struct ChosenKernel {
  std::unique_ptr<Kernel> kernel;
  std::string_view name;
  std::vector<std::string> refusals;  // "name: reason"
};

// Tries the op's list in order. Error(unsupported) with all reasons where none accepts; the compiler names an op
// that has no list.
[[nodiscard]] ChosenKernel choose_kernel(const graph::Op& op, const NodeInfo& node);

}  // namespace perfuse::cpu
