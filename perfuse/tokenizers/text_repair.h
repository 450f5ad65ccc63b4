// Small faults of texts from the web.
#pragma once

#include <string>
#include <string_view>

#include "perfuse/tokenizers/cleaning_budget.h"

namespace perfuse {

// What ftfy 6.3's fix_text gives with its defaults, line by line: entities resolved (until a line has a <), mojibake
// undone, ligatures taken apart, full-width and half-width forms as usual characters, straight quotation marks, \n at
// the end of lines, no terminal escapes and control characters, composed (NFC).
[[nodiscard]] std::u32string fix_text(std::u32string_view text, CleaningBudget& budget);

}  // namespace perfuse
