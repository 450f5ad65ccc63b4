#pragma once

#include <string_view>

namespace perfuse::cli {

extern const std::string_view kBashCompletion, kZshCompletion, kFishCompletion;

}  // namespace perfuse::cli
