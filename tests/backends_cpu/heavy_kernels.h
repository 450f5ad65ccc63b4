// Running one kernel as an executable would, for the tests and benchmarks of linear, conv2d and attention.
#pragma once

#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "perfuse/backends/cpu/cpu_buffer.h"
#include "perfuse/backends/cpu/kernel.h"
#include "perfuse/core/threads.h"

namespace perfuse::cpu::test {

// Normal values, rounded to `dtype`.
inline Tensor random_tensor(DType dtype, Shape shape, unsigned seed, float scale = 1.0f) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  Tensor tensor = Tensor::empty(DType::f32, std::move(shape));
  for (auto& value : tensor.mutable_data<float>()) value = normal(engine);
  return tensor.to(dtype);
}

inline std::vector<double> doubles(const Tensor& tensor) {
  const Tensor f64 = tensor.to(DType::f64);
  const auto values = f64.data<double>();
  return {values.begin(), values.end()};
}

// A kernel with its operands in place.
class Bench {
 public:
  // Operands from `first_parameter` on are parameters. `name` picks a kernel of the list; empty takes the first that
  // accepts.
  template <class OpType>
  Bench(const OpType& op, const std::vector<Tensor>& operands, std::size_t first_parameter = 1,
        std::string_view name = {})
      : result_(Tensor()) {
    NodeInfo node;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      node.operands.push_back({operands[i].dtype(), operands[i].shape()});
      node.is_parameter.push_back(i >= first_parameter);
    }
    node.result = graph::infer(op, node.operands);
    if (name.empty()) {
      auto chosen = choose_kernel(op, node);
      kernel_ = std::move(chosen.kernel);
      name_ = chosen.name;
    } else {
      for (const auto& entry : kernels(op)) {
        if (entry.name != name) continue;
        auto candidate = entry.make(op, node);
        if (auto* reason = std::get_if<std::string>(&candidate))
          refusal_ = *reason;
        else
          kernel_ = std::move(std::get<std::unique_ptr<Kernel>>(candidate));
      }
      name_ = name;
    }
    if (!kernel_) return;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const auto format = kernel_->format(i);
      buffers_.push_back(format && node.is_parameter[i] ? format->prepare(operands[i])
                                                        : borrow_tensor(operands[i]));
      pointers_.push_back(data_of(buffers_.back()));
    }
    result_ = Tensor::zeros(node.result.dtype, node.result.shape);
    scratch_ = scratch();
  }

  [[nodiscard]] const Kernel* kernel() const { return kernel_.get(); }
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  // Scratch memory full of NaN, so that a read of what was not written shows.
  [[nodiscard]] std::shared_ptr<CpuBuffer> scratch() const {
    auto memory = allocate_buffer({DType::u8, {static_cast<std::int64_t>(kernel_->scratch_bytes())}});
    std::fill_n(memory->data(), kernel_->scratch_bytes(), std::byte{0xff});
    return memory;
  }

  const Tensor& run() {
    kernel_->run(
        {.operands = pointers_, .result = result_.mutable_bytes().data(), .scratch = scratch_->data()});
    return result_;
  }

  // With scratch and result of its own, so several threads may.
  [[nodiscard]] Tensor run_apart() const {
    const auto memory = scratch();
    Tensor result = Tensor::zeros(result_.dtype(), result_.shape());
    kernel_->run({.operands = pointers_, .result = result.mutable_bytes().data(), .scratch = memory->data()});
    return result;
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::string_view name_;
  std::string refusal_;
  std::vector<runtime::BufferPtr> buffers_;
  std::vector<const std::byte*> pointers_;
  Tensor result_;
  std::shared_ptr<CpuBuffer> scratch_;
};

}  // namespace perfuse::cpu::test
