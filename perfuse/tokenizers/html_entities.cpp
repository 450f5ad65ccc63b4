#include "perfuse/tokenizers/html_entities.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace perfuse {
namespace {

constexpr HtmlEntity kEntities[] = {
#include "perfuse/tokenizers/html_entities.inc"
};
constexpr std::size_t kLongestName = 31;

}  // namespace

const HtmlEntity* find_html_entity(std::u32string_view name) {
  if (name.size() > kLongestName) return nullptr;
  std::string key;
  for (const char32_t c : name) {
    if (c >= 0x80) return nullptr;
    key += static_cast<char>(c);
  }
  const auto* found =
      std::lower_bound(std::begin(kEntities), std::end(kEntities), key,
                       [](const HtmlEntity& entity, std::string_view k) { return entity.name < k; });
  return found != std::end(kEntities) && found->name == key ? found : nullptr;
}

}  // namespace perfuse
