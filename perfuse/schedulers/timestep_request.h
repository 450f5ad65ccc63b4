// Checks of what a caller asks of set_timesteps, common to all schedulers.
#pragma once

#include <string_view>

#include "perfuse/schedulers/scheduler.h"

namespace perfuse {

struct TimestepRules {
  std::string_view class_name;
  int num_train_timesteps;
  bool takes_timesteps = false;
  bool integer_timesteps = true;
  bool takes_sigmas = false;
  bool takes_mu = false;
};

// Error(usage) unless exactly one of steps, timesteps and sigmas is given, the class takes it, and: steps are
// 1 … num_train_timesteps; timesteps descend strictly within 0 … num_train_timesteps − 1; sigmas are at least
// two, finite, descend strictly, all positive but for a 0 at the end; mu is finite.
void check_request(const TimestepRequest& request, const TimestepRules& rules);

// Error(usage) unless `index` is a step that set_timesteps made, at or after the begin index.
void check_step_index(const Scheduler& scheduler, int index);

}  // namespace perfuse
