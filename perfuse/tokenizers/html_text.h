// The text of an HTML fragment.
#pragma once

#include <string>
#include <string_view>

#include "perfuse/tokenizers/cleaning_budget.h"

namespace perfuse {

// What BeautifulSoup(html, "html.parser").text gives under Python 3.11: see docs/captions.md for what other versions
// of Python make of broken markup.
// Error(usage) where Beautiful Soup gives up ("<![" without one of SGML's keywords behind it).
[[nodiscard]] std::u32string html_text(std::u32string_view html, CleaningBudget& budget);

}  // namespace perfuse
