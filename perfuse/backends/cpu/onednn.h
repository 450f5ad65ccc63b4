// What our kernels share of oneDNN: one engine, strict f32, scratchpads that the caller brings (so a
// primitive can run in several threads at once).
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "perfuse/tensor/dtype.h"

namespace perfuse::cpu::onednn {

using Desc = dnnl::memory::desc;

[[nodiscard]] const dnnl::engine& engine();

// f32, bf16 or f16.
[[nodiscard]] dnnl::memory::data_type data_type(DType type);

[[nodiscard]] dnnl::primitive_attr attributes();

// Whether an implementation (impl_info_str) is one of oneDNN's plain loops.
[[nodiscard]] bool is_reference(std::string_view implementation);

// Not owned; oneDNN reads through it only, where the primitive takes it as a source.
[[nodiscard]] dnnl::memory memory(const Desc& desc, const void* data);

// Runs and waits. Error(device) or Error(out_of_memory) with oneDNN's own words.
void execute(const dnnl::primitive& primitive, const std::unordered_map<int, dnnl::memory>& arguments);

// Copies between layouts and types.
class Reorder {
 public:
  Reorder(const Desc& from, const Desc& to);
  [[nodiscard]] std::size_t scratch_bytes() const { return scratchpad_.get_size(); }
  void run(const void* from, void* to, void* scratch) const;

 private:
  Desc from_, to_, scratchpad_;
  dnnl::reorder primitive_;
};

// Names a layout: equal texts, equal layouts.
[[nodiscard]] std::string to_string(const Desc& desc);

}  // namespace perfuse::cpu::onednn
