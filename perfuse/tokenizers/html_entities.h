// The named characters of HTML 5.
#pragma once

#include <string_view>

namespace perfuse {

struct HtmlEntity {
  std::string_view name;  // without & and ;
  char32_t first;
  char32_t second;  // 0 for most
  bool bare;        // browsers take it without its semicolon too: &copy
};

// The entity of that name, with upper and lower case told apart; null if there is none.
[[nodiscard]] const HtmlEntity* find_html_entity(std::u32string_view name);

}  // namespace perfuse
