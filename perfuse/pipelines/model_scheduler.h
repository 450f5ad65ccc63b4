// The scheduler of a model folder: its class, its configuration, and what a call makes of them.
#pragma once

#include <memory>
#include <optional>

#include "perfuse/core/json.h"
#include "perfuse/pipelines/arguments.h"
#include "perfuse/pipelines/model_index.h"
#include "perfuse/schedulers/scheduler.h"

namespace perfuse {

class ModelScheduler {
 public:
  // Reads scheduler/scheduler_config.json. The class is the one that model_index.json names, as in diffusers: the file's own
  // `_class_name` may be stale or absent. A class that perfuse lacks is no error yet: a call may choose another.
  // Error(model) for a configuration that the class can't work with.
  explicit ModelScheduler(const ModelIndex& index);

  // A new one for one call. Error(unsupported) where the model's own class is wanted and perfuse lacks it.
  [[nodiscard]] std::unique_ptr<Scheduler> make(const std::optional<SchedulerChoice>& choice) const;

 private:
  std::string index_file_;
  std::string class_name_;
  ConfigReader config_;
};

}  // namespace perfuse
