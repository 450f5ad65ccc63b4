// Undoing a decoding with the wrong character set: "schÃ¶n" for schön.
#pragma once

#include <string>
#include <string_view>

#include "perfuse/tokenizers/cleaning_budget.h"

namespace perfuse {

// What ftfy 6.3's fix_encoding makes of the text: as long as it looks garbled, it is taken back to bytes with each
// character set in turn and read as UTF-8; if that fails as a whole, only the parts that look so; and C1 controls are
// what Windows-1252 has in their place.
[[nodiscard]] std::u32string fix_encoding(std::u32string_view text, CleaningBudget& budget);

// C1 controls as the characters of Windows-1252.
[[nodiscard]] std::u32string fix_c1_controls(std::u32string_view text);

}  // namespace perfuse
