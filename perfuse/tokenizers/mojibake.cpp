#include "perfuse/tokenizers/mojibake.h"

#include <algorithm>
#include <optional>

#include "perfuse/tokenizers/mojibake_detector.h"
#include "perfuse/tokenizers/single_byte_set.h"
#include "perfuse/tokenizers/utf8_repair.h"

namespace perfuse {
namespace {

using Text = std::u32string_view;

// Parts of parts: each is shorter than the text around it, but hostile text shall not fill the stack.
constexpr int kDeepest = 16;

std::u32string fix_encoding(Text text, CleaningBudget& budget, int depth);

bool is_c1(char32_t c) { return c >= 0x80 && c <= 0x9f; }

// The text that the bytes of `text` in this set are, if they are UTF-8 after some mending.
std::optional<std::u32string> decode_again(Text text, const NamedSet& named) {
  auto bytes = named.set.encode(text);
  if (!bytes) return std::nullopt;
  // In MacRoman the sequences are an en dash and a space.
  if (named.name != "macroman") bytes = restore_byte_a0(*bytes);
  if (named.set.kind() == SingleByteSet::Kind::windows) bytes = replace_lossy_sequences(*bytes);
  return decode_utf8_variants(*bytes);
}

std::u32string fix_lookalikes(Text text, CleaningBudget& budget, int depth) {
  std::u32string result;
  std::size_t done = 0;
  for (const auto& range : utf8_lookalikes(text)) {
    const Text part = text.substr(range.begin, range.end - range.begin);
    result += text.substr(done, range.begin - done);
    const bool bad = part.size() < text.size() && depth < kDeepest && looks_like_mojibake(part);
    result += bad ? fix_encoding(part, budget, depth + 1) : std::u32string(part);
    done = range.end;
  }
  return result += text.substr(done);
}

// Latin-1 text with C1 controls is Windows-1252, if that has all of them.
std::optional<std::u32string> latin_1_as_windows_1252(Text text) {
  if (std::any_of(text.begin(), text.end(), [](char32_t c) {
        return c > 0xff || (is_c1(c) && windows_1252().decode(static_cast<unsigned char>(c)) == c);
      }))
    return std::nullopt;
  return fix_c1_controls(text);
}

std::u32string fix_once(Text text, CleaningBudget& budget, int depth) {
  budget.spend(text.size());
  const bool ascii = std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x80; });
  if (ascii || !looks_like_mojibake(text)) return std::u32string(text);
  for (const auto& set : mojibake_sets())
    if (auto fixed = decode_again(text, set)) return std::move(*fixed);
  auto fixed = fix_lookalikes(text, budget, depth);
  if (fixed != text) return fixed;
  if (auto windows = latin_1_as_windows_1252(text)) return std::move(*windows);
  return fix_c1_controls(text);
}

std::u32string fix_encoding(Text text, CleaningBudget& budget, int depth) {
  std::u32string before(text);
  while (true) {
    auto after = fix_once(before, budget, depth);
    if (after == before) return after;
    before = std::move(after);
  }
}

}  // namespace

std::u32string fix_encoding(Text text, CleaningBudget& budget) { return fix_encoding(text, budget, 0); }

std::u32string fix_c1_controls(Text text) {
  std::u32string result(text);
  for (char32_t& c : result)
    if (is_c1(c)) c = windows_1252().decode(static_cast<unsigned char>(c));
  return result;
}

}  // namespace perfuse
