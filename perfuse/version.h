#pragma once

namespace perfuse {

// "0.1.0": the release of the library that is running.
[[nodiscard]] const char* version();

}  // namespace perfuse
