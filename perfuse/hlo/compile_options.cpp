#include "perfuse/hlo/compile_options.h"

#include "perfuse/core/error.h"
#include "perfuse/hlo/builder.h"
#include "perfuse/hlo/compile_options.pb.h"

namespace perfuse::hlo {

std::string compile_options(const std::vector<std::int64_t>& device_ids) {
  if (device_ids.empty()) fail(ErrorKind::usage, "hlo: compile options for no device");
  proto::CompileOptionsProto options;
  auto& build = *options.mutable_executable_build_options();
  const auto replicas = static_cast<std::int32_t>(device_ids.size());
  build.set_device_ordinal(-1);  // the assignment says it
  build.set_num_replicas(replicas);
  build.set_num_partitions(1);
  auto& assignment = *build.mutable_device_assignment();
  assignment.set_replica_count(replicas);
  assignment.set_computation_count(1);
  auto& devices = *assignment.add_computation_devices();
  for (const auto id : device_ids) devices.add_replica_device_ids(id);
  (*options.mutable_env_option_overrides())["xla_allow_excess_precision"].set_bool_field(false);
  return serialize(options);
}

}  // namespace perfuse::hlo
