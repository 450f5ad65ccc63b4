#pragma once

#include <string>
#include <string_view>

namespace perfuse::hlo {

// A program's bytes in HLO's text form, as XLA's own tools print and read it.
[[nodiscard]] std::string to_text(std::string_view program);

}  // namespace perfuse::hlo
