#include "perfuse/backends/cpu/onednn.h"

#include "perfuse/core/error.h"

namespace perfuse::cpu::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::data_type data_type(DType type) {
  switch (type) {
    case DType::bf16: return dnnl::memory::data_type::bf16;
    case DType::f16: return dnnl::memory::data_type::f16;
    default: return dnnl::memory::data_type::f32;
  }
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // whatever ONEDNN_DEFAULT_FPMATH_MODE says
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

bool is_reference(std::string_view implementation) {
  return implementation.find("ref") != std::string_view::npos;
}

dnnl::memory memory(const Desc& desc, const void* data) { return {desc, engine(), const_cast<void*>(data)}; }

void execute(const dnnl::primitive& primitive, const std::unordered_map<int, dnnl::memory>& arguments) {
  try {
    dnnl::stream stream(engine());
    primitive.execute(stream, arguments);
    stream.wait();
  } catch (const dnnl::error& error) {
    fail(error.status == dnnl_out_of_memory ? ErrorKind::out_of_memory : ErrorKind::device, "oneDNN: {}",
         error.what());
  }
}

Reorder::Reorder(const Desc& from, const Desc& to) : from_(from), to_(to) {
  const dnnl::reorder::primitive_desc desc(engine(), from, engine(), to, attributes());
  scratchpad_ = desc.scratchpad_desc();
  primitive_ = dnnl::reorder(desc);
}

void Reorder::run(const void* from, void* to, void* scratch) const {
  execute(primitive_, {{DNNL_ARG_FROM, memory(from_, from)},
                       {DNNL_ARG_TO, memory(to_, to)},
                       {DNNL_ARG_SCRATCHPAD, memory(scratchpad_, scratch)}});
}

std::string to_string(const Desc& desc) {
  return fmt::format("{}:{}:{}:{}:{}:{}", static_cast<int>(desc.get_data_type()),
                     fmt::join(desc.get_dims(), ","), fmt::join(desc.get_padded_dims(), ","),
                     fmt::join(desc.get_strides(), ","), fmt::join(desc.get_inner_blks(), ","),
                     fmt::join(desc.get_inner_idxs(), ","));
}

}  // namespace perfuse::cpu::onednn
