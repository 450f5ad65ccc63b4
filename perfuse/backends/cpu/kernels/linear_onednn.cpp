// linear as one oneDNN matmul: f32 everywhere, bf16 where the processor multiplies it (sums in f32).
#include "perfuse/backends/cpu/isa.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/kernels/linear.h"
#include "perfuse/backends/cpu/onednn.h"
#include "perfuse/backends/cpu/scratch.h"

namespace perfuse::cpu {
namespace {

using dnnl::memory;

class OnednnLinear final : public Kernel {
 public:
  OnednnLinear(const LinearNode& node, const dnnl::matmul::primitive_desc& desc)
      : node_(node), desc_(desc), primitive_(desc) {
    ScratchLayout scratch;
    scratchpad_ = scratch.add(desc.scratchpad_desc().get_size());
    bias_ = scratch.add(converts_bias() ? static_cast<std::size_t>(node.n) * sizeof(float) : 0);
    scratch_bytes_ = scratch.bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const KernelArgs& args) const override {
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, onednn::memory(desc_.src_desc(), args.operands[0])},
        {DNNL_ARG_WEIGHTS, onednn::memory(desc_.weights_desc(), args.operands[1])},
        {DNNL_ARG_DST, onednn::memory(desc_.dst_desc(), args.result)},
        {DNNL_ARG_SCRATCHPAD, onednn::memory(desc_.scratchpad_desc(), args.scratch + scratchpad_)}};
    if (node_.bias) {
      const std::byte* bias = args.operands[2];
      if (converts_bias()) {
        to_f32(*node_.bias, bias, node_.n, elements<float>(args.scratch + bias_));
        bias = args.scratch + bias_;
      }
      arguments.emplace(DNNL_ARG_BIAS, onednn::memory(desc_.bias_desc(), bias));
    }
    onednn::execute(primitive_, arguments);
  }

 private:
  [[nodiscard]] bool converts_bias() const { return node_.bias && *node_.bias != DType::f32; }

  LinearNode node_;
  dnnl::matmul::primitive_desc desc_;
  dnnl::matmul primitive_;
  std::size_t scratchpad_ = 0, bias_ = 0, scratch_bytes_ = 0;
};

}  // namespace

Candidate make_linear_onednn(const graph::op::Linear&, const NodeInfo& info) {
  const LinearNode node = linear_node(info);
  if (node.m == 0 || node.n == 0 || node.k == 0) return "empty";
  if (node.x != node.weight || node.result != node.x) return "x and weight are of two types";
  if (node.x == DType::f16) return "f16 is computed in f32";
  if (node.x == DType::bf16 && !has_bf16_dot()) return "this processor has no bf16 products";
  try {
    const auto type = onednn::data_type(node.x);
    const memory::desc x({node.m, node.k}, type, memory::format_tag::ab);
    const memory::desc weight({node.k, node.n}, type, memory::format_tag::ba);
    const memory::desc result({node.m, node.n}, type, memory::format_tag::ab);
    const memory::desc bias({1, node.n}, memory::data_type::f32, memory::format_tag::ab);
    const auto desc =
        node.bias
            ? dnnl::matmul::primitive_desc(onednn::engine(), x, weight, bias, result, onednn::attributes())
            : dnnl::matmul::primitive_desc(onednn::engine(), x, weight, result, onednn::attributes());
    if (onednn::is_reference(desc.impl_info_str()))
      return std::string("oneDNN has only ") + desc.impl_info_str();
    return std::make_unique<OnednnLinear>(node, desc);
  } catch (const dnnl::error& error) {
    return std::string("oneDNN: ") + error.what();
  }
}

}  // namespace perfuse::cpu
