#include "perfuse/runtime/parameter_store.h"

#include "perfuse/core/error.h"

namespace perfuse::runtime {

BufferPtr ParameterStore::get(const graph::Parameter& parameter, const graph::ValueType& type,
                              const ParameterFormat& format) {
  const std::scoped_lock lock(mutex_);
  auto& entry = prepared_[{parameter.name, format.id()}];
  if (entry) return entry;
  const Tensor host = graph::materialize(parameter.recipe, *weights_, type.shape, type.dtype);
  if (finite_.insert(parameter.name).second && !all_finite(host))
    fail(ErrorKind::model,
         "{}: {} holds NaN or infinite values; the file is damaged, or was saved from a diverged training",
         weights_->folder().string(), parameter.name);
  entry = context_->prepare_parameter(format, host);
  return entry;
}

void ParameterStore::release() {
  const std::scoped_lock lock(mutex_);
  prepared_.clear();
  if (weights_) weights_->release_pages();
}

}  // namespace perfuse::runtime
