// conv2d by oneDNN.
//
// Weights. oneDNN's blocked layouts depend on the image size; ours must not. The layout is the one that oneDNN
// likes for a 64×64 image, and is asked for at every size. Where oneDNN has no fast kernel for that layout and size
// (seen on AVX2, whose blocks are 16 or 24 outputs wide), the weights are reordered in scratch memory at each run.
// Half-precision weights under f32 arithmetic are kept as f32 up to kLargestWidened bytes; larger ones keep
// their type, in the blocked layout, and are converted at each run (the 3×3 convolutions of SDXL's U-Net would take
// 4.8 GB as f32).
//
// Types. f32; bf16 where the processor multiplies it; all else by converting one image at a time to f32.
#include <algorithm>

#include "perfuse/backends/cpu/isa.h"
#include "perfuse/backends/cpu/kernels/conv2d.h"
#include "perfuse/backends/cpu/kernels/conv_weights.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"
#include "perfuse/backends/cpu/onednn.h"
#include "perfuse/backends/cpu/scratch.h"

namespace perfuse::cpu {
namespace {

using dnnl::memory;
using Primitive = dnnl::convolution_forward;

constexpr std::size_t kLargestWidened = std::size_t{8} << 20;
constexpr std::int64_t kCanonicalSize = 64;

Primitive::primitive_desc describe(const ConvNode& node, std::int64_t batch, std::int64_t height,
                                   std::int64_t width, DType type, const memory::desc& weights) {
  const auto& op = node.op;
  const auto out = [&](std::int64_t size, std::int64_t kernel) { return (size - kernel) / op.stride + 1; };
  const auto element = onednn::data_type(type);
  const memory::desc x({batch, node.channels, height, width}, element, memory::format_tag::nhwc);
  const memory::desc y({batch, node.outputs, out(height + op.pad_top + op.pad_bottom, node.kernel_height),
                        out(width + op.pad_left + op.pad_right, node.kernel_width)},
                       element, memory::format_tag::nhwc);
  const memory::desc bias({node.outputs}, memory::data_type::f32, memory::format_tag::a);
  const memory::dims strides{op.stride, op.stride}, before{op.pad_top, op.pad_left},
      after{op.pad_bottom, op.pad_right};
  constexpr auto kind = dnnl::prop_kind::forward_inference;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
  if (node.bias)
    return {onednn::engine(), kind,  algorithm,           x, weights, bias, y, strides,
            before,           after, onednn::attributes()};
  return {onednn::engine(), kind, algorithm, x, weights, y, strides, before, after, onednn::attributes()};
}

struct Plan {
  DType computed;              // type of the products' factors
  DType stored;                // elements of the weights as they come to run()
  memory::desc plain, layout;  // of the file; as they come to run()
  Primitive::primitive_desc primitive;
};

// Throws dnnl::error where oneDNN has nothing at all.
Plan make_plan(const ConvNode& node) {
  const bool native = node.x == DType::bf16 && node.weight == DType::bf16 && has_bf16_dot();
  Plan plan{native ? DType::bf16 : DType::f32, node.weight, {}, {}, {}};
  plan.plain = plain_conv_weights(node, plan.computed);
  const memory::desc any(plan.plain.get_dims(), plan.plain.get_data_type(), memory::format_tag::any);
  const auto least = [](std::int64_t kernel) { return std::max(kCanonicalSize, kernel); };
  plan.layout = node.weight_is_parameter ? describe(node, 1, least(node.kernel_height),
                                                    least(node.kernel_width), plan.computed, any)
                                               .weights_desc()
                                         : plan.plain;
  if (node.weight_is_parameter && plan.layout.get_size() <= kLargestWidened) plan.stored = plan.computed;
  const auto batch = node.x == plan.computed ? node.batch : 1;
  try {
    plan.primitive = describe(node, batch, node.height, node.width, plan.computed, plan.layout);
    const std::string_view name = plan.primitive.impl_info_str();
    if (!onednn::is_reference(name) && name.find("gemm") == std::string_view::npos) return plan;
  } catch (const dnnl::error&) {
    // No kernel for this layout and size: the next line takes another layout.
  }
  plan.primitive = describe(node, batch, node.height, node.width, plan.computed, any);
  return plan;
}

class OnednnConv2d final : public Kernel {
 public:
  OnednnConv2d(const ConvNode& node, Plan plan)
      : node_(node), plan_(std::move(plan)), primitive_(plan_.primitive) {
    const auto& wanted = plan_.primitive;
    if (wanted.weights_desc() != plan_.layout) reorder_.emplace(plan_.layout, wanted.weights_desc());
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    ScratchLayout scratch;
    scratchpad_ =
        scratch.add(std::max(wanted.scratchpad_desc().get_size(), reorder_ ? reorder_->scratch_bytes() : 0));
    widened_ = scratch.add(plan_.stored != plan_.computed ? plan_.layout.get_size() : 0);
    reordered_ = scratch.add(reorder_ ? wanted.weights_desc().get_size() : 0);
    bias_ = scratch.add(node.bias && *node.bias != DType::f32 ? floats(node.outputs) : 0);
    x_ = scratch.add(converts() ? floats(x_count()) : 0);
    y_ = scratch.add(converts() ? floats(y_count()) : 0);
    scratch_bytes_ = scratch.bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  std::shared_ptr<const runtime::ParameterFormat> format(std::size_t operand) const override {
    if (operand != 1 || !node_.weight_is_parameter) return nullptr;
    return conv_weight_format(plan_.layout, plan_.plain, plan_.computed, plan_.stored);
  }

  void run(const KernelArgs& args) const override {
    const auto& desc = plan_.primitive;
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_WEIGHTS, onednn::memory(desc.weights_desc(), weights(args))},
        {DNNL_ARG_SCRATCHPAD, onednn::memory(desc.scratchpad_desc(), args.scratch + scratchpad_)}};
    if (node_.bias) {
      const float* bias =
          read_f32(*node_.bias, args.operands[2], 0, node_.outputs, elements<float>(args.scratch + bias_));
      arguments.emplace(DNNL_ARG_BIAS, onednn::memory(desc.bias_desc(), bias));
    }
    if (!converts()) return execute(arguments, args.operands[0], args.result);
    const auto element = static_cast<std::int64_t>(size_of(node_.x));
    float* const x = elements<float>(args.scratch + x_);
    float* const y = elements<float>(args.scratch + y_);
    for (std::int64_t image = 0; image < node_.batch; ++image) {
      const std::byte* from = args.operands[0] + image * x_count() * element;
      std::byte* to = args.result + image * y_count() * element;
      parallel_for(x_count(), kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
        to_f32(node_.x, from + begin * element, end - begin, x + begin);
      });
      execute(arguments, x, y);
      parallel_for(y_count(), kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
        from_f32(y + begin, end - begin, node_.result, to + begin * element);
      });
    }
  }

 private:
  [[nodiscard]] bool converts() const { return node_.x != plan_.computed; }
  [[nodiscard]] std::int64_t x_count() const { return node_.height * node_.width * node_.channels; }
  [[nodiscard]] std::int64_t y_count() const { return node_.out_height * node_.out_width * node_.outputs; }

  const std::byte* weights(const KernelArgs& args) const {
    const std::byte* result = args.operands[1];
    if (plan_.stored != plan_.computed) {
      float* const widened = elements<float>(args.scratch + widened_);
      const auto element = static_cast<std::int64_t>(size_of(plan_.stored));
      const auto count = static_cast<std::int64_t>(plan_.layout.get_size() / sizeof(float));
      parallel_for(count, kMemoryGrain, [&](std::int64_t begin, std::int64_t end) {
        to_f32(plan_.stored, result + begin * element, end - begin, widened + begin);
      });
      result = args.scratch + widened_;
    }
    if (!reorder_) return result;
    reorder_->run(result, args.scratch + reordered_, args.scratch + scratchpad_);
    return args.scratch + reordered_;
  }

  void execute(std::unordered_map<int, memory>& arguments, const void* x, void* y) const {
    arguments.insert_or_assign(DNNL_ARG_SRC, onednn::memory(plan_.primitive.src_desc(), x));
    arguments.insert_or_assign(DNNL_ARG_DST, onednn::memory(plan_.primitive.dst_desc(), y));
    onednn::execute(primitive_, arguments);
  }

  ConvNode node_;
  Plan plan_;
  Primitive primitive_;
  std::optional<onednn::Reorder> reorder_;
  std::size_t scratchpad_ = 0, widened_ = 0, reordered_ = 0, bias_ = 0, x_ = 0, y_ = 0, scratch_bytes_ = 0;
};

}  // namespace

Candidate make_conv2d_onednn(const graph::op::Conv2d& op, const NodeInfo& info) {
  const ConvNode node = conv_node(op, info);
  if (info.result.numel() == 0 || info.operands[1].numel() == 0) return "empty";
  try {
    Plan plan = make_plan(node);
    if (onednn::is_reference(plan.primitive.impl_info_str()))
      return std::string("oneDNN has only ") + plan.primitive.impl_info_str();
    return std::make_unique<OnednnConv2d>(node, std::move(plan));
  } catch (const dnnl::error& error) {
    return std::string("oneDNN: ") + error.what();
  }
}

}  // namespace perfuse::cpu
