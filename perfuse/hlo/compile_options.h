// The options that go with a program to a PJRT plugin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perfuse::hlo {

// Serialised CompileOptionsProto for one program that runs as `device_ids.size()` replicas, one on each device. Values
// are rounded to their types after every instruction (no excess precision). Error(usage) for no device: a plugin ends
// the process on options without replicas.
[[nodiscard]] std::string compile_options(const std::vector<std::int64_t>& device_ids);

}  // namespace perfuse::hlo
