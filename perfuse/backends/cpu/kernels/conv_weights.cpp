#include "perfuse/backends/cpu/kernels/conv_weights.h"

#include "perfuse/backends/cpu/cpu_buffer.h"
#include "perfuse/backends/cpu/kernels/float_rows.h"

namespace perfuse::cpu {
namespace {

class ConvWeightFormat final : public runtime::ParameterFormat {
 public:
  ConvWeightFormat(onednn::Desc layout, onednn::Desc plain, DType computed, DType stored)
      : layout_(std::move(layout)), plain_(std::move(plain)), computed_(computed), stored_(stored) {}

  std::string id() const override {
    return fmt::format("onednn-conv:{}:{}", to_string(stored_), onednn::to_string(layout_));
  }

  runtime::BufferPtr prepare(const Tensor& host) const override {
    const Tensor source = host.to(computed_);
    const auto count = static_cast<std::int64_t>(layout_.get_size() / size_of(computed_));
    const auto result = allocate_buffer({stored_, {count}});
    const onednn::Reorder reorder(plain_, layout_);
    const auto scratch = Tensor::empty(DType::u8, {static_cast<std::int64_t>(reorder.scratch_bytes())});
    // oneDNN takes scratch memory as writable; nobody else holds this one.
    auto* scratch_data = const_cast<std::byte*>(scratch.bytes().data());
    if (stored_ == computed_) {
      reorder.run(source.bytes().data(), result->data(), scratch_data);
    } else {
      Tensor moved = Tensor::empty(computed_, {count});
      reorder.run(source.bytes().data(), moved.mutable_bytes().data(), scratch_data);
      from_f32(moved.data<float>().data(), count, stored_, result->data());  // exact: it came from that type
    }
    return result;
  }

 private:
  onednn::Desc layout_, plain_;
  DType computed_, stored_;
};

}  // namespace

onednn::Desc plain_conv_weights(const ConvNode& node, DType type) {
  const auto groups = node.op.groups, outputs = node.outputs / groups, inputs = node.group_channels;
  const auto h = node.kernel_height, w = node.kernel_width;
  const dnnl::memory::dims strides{outputs * h * w * inputs, h * w * inputs, 1, w * inputs, inputs};
  if (groups > 1) return {{groups, outputs, inputs, h, w}, onednn::data_type(type), strides};
  return {{outputs, inputs, h, w}, onednn::data_type(type), {strides.begin() + 1, strides.end()}};
}

std::shared_ptr<const runtime::ParameterFormat> conv_weight_format(const onednn::Desc& layout,
                                                                   const onednn::Desc& plain, DType computed,
                                                                   DType stored) {
  return std::make_shared<ConvWeightFormat>(layout, plain, computed, stored);
}

}  // namespace perfuse::cpu
