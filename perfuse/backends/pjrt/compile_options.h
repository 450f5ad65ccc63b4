// A look at serialized compile options before a plugin gets them.
#pragma once

#include <cstddef>
#include <span>

namespace perfuse::pjrt {

// Error(usage) unless the bytes are a CompileOptionsProto with at least one replica and one partition: plugins
// abort the process where those are absent.
void check_compile_options(std::span<const std::byte> options);

}  // namespace perfuse::pjrt
