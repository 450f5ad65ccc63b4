#include "perfuse/pipelines/model_scheduler.h"

#include <fmt/ranges.h>

#include "perfuse/core/error.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse {

ModelScheduler::ModelScheduler(const ModelIndex& index)
    : index_file_(index.file()),
      class_name_(index.component_class("scheduler")),
      config_(index.folder / "scheduler" / "scheduler_config.json") {
  if (const auto own = config_.string("_class_name", class_name_); own != class_name_)
    log::info("{}: _class_name {} is not obeyed: {} says {}", config_.origin(), quote(own), index_file_,
              class_name_);
  // Says now what is wrong with the file, rather than when the model is loaded and the prompt encoded.
  if (has_scheduler(class_name_)) static_cast<void>(make_scheduler(config_, class_name_));
}

std::unique_ptr<Scheduler> ModelScheduler::make(const std::optional<SchedulerChoice>& choice) const {
  const bool chosen = choice && !choice->class_name.empty();
  if (!chosen && !has_scheduler(class_name_))
    fail(ErrorKind::unsupported, "{}: scheduler: perfuse has no {} yet; choose another (--scheduler): {}",
         index_file_, class_name_, fmt::join(scheduler_names(), ", "));
  return make_scheduler(config_, chosen ? choice->class_name : class_name_,
                        choice ? choice->config : Json::object());
}

}  // namespace perfuse
