// The Unigram model: the split of a word into vocabulary pieces with the greatest sum of scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

// Byte strings with a value each, found by prefix.
class PrefixTree {
 public:
  PrefixTree() = default;
  // Non-empty keys; the value of keys[i] is i (of equal keys, the first one's).
  explicit PrefixTree(const std::vector<std::string_view>& keys);

  // Calls found(length, value) for every key that `text` begins with, shortest first.
  template <class Found> void prefixes(std::string_view text, const Found& found) const;

 private:
  // The children of a node lie together, sorted by byte.
  struct Node {
    std::uint32_t first_child = 0;
    std::int32_t value = -1;
    std::uint16_t children = 0;
    unsigned char byte = 0;
  };
  [[nodiscard]] const Node* child(const Node& node, unsigned char byte) const;

  std::vector<Node> nodes_;  // the root first
};

struct ScoredPiece {
  std::string text;
  double score = 0;
};

class Unigram {
 public:
  // The index of a piece is its id. Error(model), beginning with `origin`, for an empty, repeated,
  // overlong or non-UTF-8 piece, a score that isn't finite, or no piece `unknown_id`.
  Unigram(std::vector<ScoredPiece> pieces, std::int32_t unknown_id, const std::string& origin);

  // Appends the ids of `word` (UTF-8). Characters outside the vocabulary are one unknown token per run.
  // Sums in double, as the tokenizers library: SentencePiece's single precision breaks near-ties otherwise.
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const;

  [[nodiscard]] const std::vector<ScoredPiece>& pieces() const { return pieces_; }
  // The id, or −1.
  [[nodiscard]] std::int32_t find(std::string_view piece) const;

 private:
  std::vector<ScoredPiece> pieces_;
  PrefixTree tree_;
  std::int32_t unknown_id_;
  double unknown_score_;
};

template <class Found> void PrefixTree::prefixes(std::string_view text, const Found& found) const {
  if (nodes_.empty()) return;
  const Node* node = nodes_.data();
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = child(*node, static_cast<unsigned char>(text[i]));
    if (node == nullptr) return;
    if (node->value >= 0) found(i + 1, node->value);
  }
}

}  // namespace perfuse
