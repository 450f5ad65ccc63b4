// SentencePiece's precompiled normalisation (nmt_nfkc and the like) as the tokenizers library applies it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

// A double-array trie from UTF-8 strings to their replacements.
class Charsmap {
 public:
  // Maps nothing.
  Charsmap() = default;
  // The blob: 4 bytes of trie size, the trie's 32-bit units (little-endian), then NUL-terminated
  // replacements. Error(model), beginning with `origin`, if sizes or positions in it contradict.
  Charsmap(std::string_view blob, const std::string& origin);

  // `text` is valid UTF-8. A grapheme cluster of at most 5 bytes that begins with a key becomes that key's
  // replacement, whole; otherwise each of its characters is looked up alone. So stacked combining marks
  // are not composed, unlike in SentencePiece itself.
  [[nodiscard]] std::string normalize(std::string_view text) const;

 private:
  // The replacement of the shortest key that `text` begins with.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view text) const;
  void append(std::string_view character, std::string& out) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace perfuse
