#include "perfuse/schedulers/timestep_request.h"

#include <cmath>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

void check_steps(int steps, const TimestepRules& rules) {
  if (steps < 1 || steps > rules.num_train_timesteps)
    fail(ErrorKind::usage, "num_inference_steps: expected 1 to {} (the model's num_train_timesteps), got {}",
         rules.num_train_timesteps, steps);
}

void check_timesteps(const std::vector<double>& timesteps, const TimestepRules& rules) {
  if (!rules.takes_timesteps)
    fail(ErrorKind::usage, "timesteps: {} takes none; give num_inference_steps", rules.class_name);
  const double top = rules.num_train_timesteps - 1;
  for (std::size_t i = 0; i < timesteps.size(); ++i) {
    const double timestep = timesteps[i];
    if (!(timestep >= 0 && timestep <= top))  // NaN too
      fail(ErrorKind::usage, "timesteps[{}]: expected 0 to {}, got {}", i, top, timestep);
    if (rules.integer_timesteps && timestep != std::floor(timestep))
      fail(ErrorKind::usage, "timesteps[{}]: {} takes integers, got {}", i, rules.class_name, timestep);
    if (i > 0 && !(timestep < timesteps[i - 1]))
      fail(ErrorKind::usage, "timesteps[{}]: timesteps must descend, but {} follows {}", i, timestep,
           timesteps[i - 1]);
  }
}

void check_sigmas(const std::vector<double>& sigmas, const TimestepRules& rules) {
  if (!rules.takes_sigmas)
    fail(ErrorKind::usage, "sigmas: {} takes none; give num_inference_steps{}", rules.class_name,
         rules.takes_timesteps ? " or timesteps" : "");
  const std::size_t most = static_cast<std::size_t>(rules.num_train_timesteps) + 1;
  if (sigmas.size() < 2 || sigmas.size() > most)
    fail(ErrorKind::usage, "sigmas: expected 2 to {} numbers (one more than steps), got {}", most,
         sigmas.size());
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    const bool last = i + 1 == sigmas.size();
    const auto sigma = static_cast<float>(sigmas[i]);
    if (!std::isfinite(sigma) || sigma < 0 || (sigma == 0 && !last))
      fail(ErrorKind::usage, "sigmas[{}]: expected a positive, finite number{}, got {}", i,
           last ? " or 0" : "", sigmas[i]);
    if (i > 0 && !(sigma < static_cast<float>(sigmas[i - 1])))
      fail(ErrorKind::usage, "sigmas[{}]: sigmas must descend, but {} follows {}", i, sigmas[i],
           sigmas[i - 1]);
  }
}

}  // namespace

void check_request(const TimestepRequest& request, const TimestepRules& rules) {
  const int given = (request.num_inference_steps ? 1 : 0) + (request.timesteps.empty() ? 0 : 1) +
                    (request.sigmas.empty() ? 0 : 1);
  if (given != 1)
    fail(ErrorKind::usage, "give exactly one of num_inference_steps, timesteps and sigmas; got {}",
         given == 0 ? "none" : "more than one");
  if (request.num_inference_steps) check_steps(*request.num_inference_steps, rules);
  if (!request.timesteps.empty()) check_timesteps(request.timesteps, rules);
  if (!request.sigmas.empty()) check_sigmas(request.sigmas, rules);
  if (request.mu && !rules.takes_mu)
    fail(ErrorKind::usage, "mu: {} as configured has no dynamic shifting; leave mu out", rules.class_name);
  if (request.mu && !std::isfinite(*request.mu))
    fail(ErrorKind::usage, "mu: expected a finite number, got {}", *request.mu);
}

void check_step_index(const Scheduler& scheduler, int index) {
  const auto count = std::ssize(scheduler.timesteps());
  if (count == 0) fail(ErrorKind::usage, "{}: call set_timesteps before step", scheduler.class_name());
  if (index < scheduler.begin_index() || index >= count)
    fail(ErrorKind::usage, "{}: step {} does not exist: expected {} to {}", scheduler.class_name(), index,
         scheduler.begin_index(), count - 1);
}

}  // namespace perfuse
