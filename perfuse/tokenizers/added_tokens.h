// Tokens that are found in the text itself, before it is normalised or segmented: </s>, <extra_id_0>, …
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/tokenizers/charsmap.h"
#include "perfuse/tokenizers/unigram.h"

namespace perfuse {

// One entry, with the fields of transformers' AddedToken.
struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool lstrip = false, rstrip = false;  // takes the white space before / after it along
  bool single_word = false;             // only where no letter or digit touches it
  bool normalized = false;              // found in the normalised text instead of the raw one
};

class AddedTokens {
 public:
  // Distinct, non-empty contents.
  AddedTokens(std::vector<AddedToken> tokens, const Charsmap& charsmap);

  // A piece of the text: a token's id, or −1 for text between tokens.
  struct Part {
    std::string_view text;
    std::int32_t id = -1;
  };
  // Where tokens overlap the leftmost wins, then the longest.
  [[nodiscard]] std::vector<Part> split_raw(std::string_view text) const { return split(text, raw_); }
  [[nodiscard]] std::vector<Part> split_normalized(std::string_view text) const {
    return split(text, normalized_);
  }

  [[nodiscard]] const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  struct Finder {
    PrefixTree tree;
    std::vector<std::size_t> tokens;  // index in tokens_ of each of the tree's values
  };
  [[nodiscard]] std::vector<Part> split(std::string_view text, const Finder& finder) const;

  std::vector<AddedToken> tokens_;
  Finder raw_, normalized_;
};

}  // namespace perfuse
