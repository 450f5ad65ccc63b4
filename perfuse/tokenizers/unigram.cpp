#include "perfuse/tokenizers/unigram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

// T5's longest piece has 48 bytes or so; the tree's depth, and with it the work per character, is bounded.
constexpr std::size_t kLongestPiece = 256;
// UMT5's 256,000 pieces have about 2 MB; the tree takes 12 bytes for each.
constexpr std::size_t kMostPieceBytes = 16u << 20;
constexpr double kUnknownPenalty = 10.0;  // below the lowest score

}  // namespace

PrefixTree::PrefixTree(const std::vector<std::string_view>& keys) {
  std::vector<std::pair<std::string_view, std::int32_t>> sorted;
  sorted.reserve(keys.size());
  for (const auto& key : keys) sorted.emplace_back(key, static_cast<std::int32_t>(sorted.size()));
  std::sort(sorted.begin(), sorted.end());
  // Breadth first: a node owns a range of the sorted keys, all with the same first `depth` bytes.
  struct Range {
    std::size_t begin, end;
  };
  nodes_.push_back({});
  std::vector<Range> level{{0, keys.size()}};
  std::size_t first_of_level = 0;
  for (std::size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Range> below;
    const std::size_t first_below = nodes_.size();
    for (std::size_t n = 0; n < level.size(); ++n) {
      auto [begin, end] = level[n];
      Node node = nodes_[first_of_level + n];
      if (begin < end && sorted[begin].first.size() == depth) node.value = sorted[begin].second;
      while (begin < end && sorted[begin].first.size() == depth) ++begin;
      node.first_child = static_cast<std::uint32_t>(nodes_.size());
      while (begin < end) {
        const char byte = sorted[begin].first[depth];
        std::size_t stop = begin + 1;
        while (stop < end && sorted[stop].first[depth] == byte) ++stop;
        nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
        below.push_back({begin, stop});
        ++node.children;
        begin = stop;
      }
      nodes_[first_of_level + n] = node;
    }
    first_of_level = first_below;
    level = std::move(below);
  }
}

const PrefixTree::Node* PrefixTree::child(const Node& node, unsigned char byte) const {
  const Node* const begin = nodes_.data() + node.first_child;
  const Node* const end = begin + node.children;
  const Node* const found =
      std::lower_bound(begin, end, byte, [](const Node& n, unsigned char b) { return n.byte < b; });
  return found != end && found->byte == byte ? found : nullptr;
}

Unigram::Unigram(std::vector<ScoredPiece> pieces, std::int32_t unknown_id, const std::string& origin)
    : pieces_(std::move(pieces)), unknown_id_(unknown_id) {
  if (std::cmp_less_equal(pieces_.size(), unknown_id))
    fail(ErrorKind::model, "{}: has {} pieces, but T5's <unk> is piece {}", origin, pieces_.size(),
         unknown_id);
  std::vector<std::string_view> keys;
  keys.reserve(pieces_.size());
  double lowest = std::numeric_limits<double>::infinity();
  std::size_t bytes = 0;
  for (std::size_t id = 0; id < pieces_.size(); ++id) {
    const auto& [text, score] = pieces_[id];
    const auto invalid = find_invalid_utf8(text);
    if (text.empty() || text.size() > kLongestPiece || invalid)
      fail(ErrorKind::model, "{}: piece {} has {} bytes{}, expected 1 to {} bytes of UTF-8", origin, id,
           text.size(), invalid ? " and is not UTF-8" : "", kLongestPiece);
    if (!std::isfinite(score))
      fail(ErrorKind::model, "{}: piece {} ({}) has the score {}, expected a finite one", origin, id,
           quote(text), score);
    bytes += text.size();
    if (bytes > kMostPieceBytes)
      fail(ErrorKind::model, "{}: the pieces have more than {}", origin, format_bytes(kMostPieceBytes));
    lowest = std::min(lowest, score);
    keys.push_back(text);
  }
  unknown_score_ = lowest - kUnknownPenalty;
  tree_ = PrefixTree(keys);
  for (std::size_t id = 0; id < pieces_.size(); ++id)
    if (const std::int32_t first = find(pieces_[id].text); !std::cmp_equal(first, id))
      fail(ErrorKind::model, "{}: pieces {} and {} are both {}", origin, first, id, quote(pieces_[id].text));
}

std::int32_t Unigram::find(std::string_view piece) const {
  std::int32_t result = -1;
  tree_.prefixes(piece, [&](std::size_t length, std::int32_t id) {
    if (length == piece.size()) result = id;
  });
  return result;
}

void Unigram::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  // The best split of the first `i` bytes.
  struct Best {
    double score = 0;
    std::size_t begin = 0;  // of its last token
    std::int32_t id = -1;   // −1: none ends here
  };
  std::vector<Best> best(word.size() + 1);
  for (std::size_t begin = 0; begin < word.size();) {
    const std::string_view rest = word.substr(begin);
    const std::size_t character = character_size(rest[0]);
    const double so_far = best[begin].score;
    const auto offer = [&](std::size_t length, std::int32_t id, double score) {
      auto& target = best[begin + length];
      if (target.id < 0 || so_far + score > target.score) target = {so_far + score, begin, id};
    };
    bool whole_character = false;
    tree_.prefixes(rest, [&](std::size_t length, std::int32_t id) {
      offer(length, id, pieces_[static_cast<std::size_t>(id)].score);
      whole_character = whole_character || length == character;
    });
    if (!whole_character) offer(character, unknown_id_, unknown_score_);
    begin += character;
  }
  const std::size_t first = ids.size();
  for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
    const std::int32_t id = best[end].id;
    if (id == unknown_id_ && ids.size() > first && ids.back() == unknown_id_) continue;
    ids.push_back(id);
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

}  // namespace perfuse
