// Attention as two products and a softmax, a chunk of queries at a time: the scores of a long sequence are never
// held whole.
#include <algorithm>
#include <limits>

#include "perfuse/hlo/lowering/context.h"

namespace perfuse::hlo {
namespace {

// Queries begin … end − 1 of one attention. Heads are [G, R]: R query heads to each of the G of keys and values.
class Chunk {
 public:
  Chunk(const graph::op::Attention& op, const Context& c, std::int64_t begin, std::int64_t end)
      : op_(op), c_(c), b_(c.b), begin_(begin), end_(end) {}

  // [B, s, H, D]
  [[nodiscard]] Value compute() const {
    const Value &q = c_.operands[0], &k = c_.operands[1], &v = c_.operands[2];
    const auto batch = q.dim(0), heads = q.dim(2), depth = q.dim(3), groups = k.dim(2);
    const auto ratio = heads / groups;
    const Value queries =
        b_.reshape(b_.slice(q, 1, begin_, end_), {batch, end_ - begin_, groups, ratio, depth});
    // [B, G, s, R, T]
    Value scores = b_.dot(queries, k, {{4}, {3}, {0, 2}, {0, 2}}, DType::f32);
    scores = b_.binary("multiply", scores, op_.scale);
    if (c_.operands.size() == 4) scores = b_.binary("add", scores, bias(scores.shape()));
    if (op_.causal) scores = masked(scores, k.dim(1) - q.dim(1));
    // As other implementations do, the probabilities meet the values in the values' type.
    const Value probabilities = b_.convert(softmax_last(b_, scores, HiddenRows::zero), v.dtype());
    // [B, G, s, R, D]
    const Value mixed = c_.rounded(b_.dot(probabilities, v, {{4}, {1}, {0, 1}, {0, 2}}, DType::f32));
    return b_.reshape(b_.transpose(mixed, {0, 2, 1, 3, 4}), {batch, end_ - begin_, heads, depth});
  }

 private:
  // bias [1|B, 1|H, 1|S, T] as [B, G, s, R, T].
  [[nodiscard]] Value bias(const Shape& scores) const {
    Value bias = c_.f32(3);
    if (bias.dim(2) != 1) bias = b_.slice(bias, 2, begin_, end_);
    const auto groups = scores[1], ratio = scores[3];
    const bool by_head = bias.dim(1) != 1;
    const Shape split{bias.dim(0), by_head ? groups : 1, by_head ? ratio : 1, bias.dim(2), bias.dim(3)};
    return broadcast_to(b_, b_.transpose(b_.reshape(bias, split), {0, 1, 3, 2, 4}), scores);
  }

  // Position begin + s sees t ≤ begin + s + offset.
  [[nodiscard]] Value masked(const Value& scores, std::int64_t offset) const {
    const Value last = b_.binary("add", b_.iota(scores.shape(), 2), static_cast<double>(begin_ + offset));
    const Value visible = b_.compare(Comparison::less_or_equal, b_.iota(scores.shape(), 4), last);
    const Value hidden =
        b_.splat(b_.constant(DType::f32, -std::numeric_limits<double>::infinity()), scores.shape());
    return b_.select(visible, scores, hidden);
  }

  const graph::op::Attention& op_;
  const Context& c_;
  Builder& b_;
  std::int64_t begin_, end_;
};

}  // namespace

Value lower(const graph::op::Attention& op, const Context& c) {
  const auto length = c.operands[0].dim(1), step = c.options.attention_query_chunk;
  std::vector<Value> parts;
  for (std::int64_t begin = 0; begin < length; begin += step)
    parts.push_back(Chunk(op, c, begin, std::min(begin + step, length)).compute());
  return c.b.concatenate(parts, 1);
}

}  // namespace perfuse::hlo
