#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

struct TokenBatch {
  // Row-major [rows, length] ids and a mask of 1 (token) and 0 (padding).
  std::vector<std::int32_t> ids, mask;
  std::int64_t rows = 0, length = 0;
  // Per row: the text of the tokens that truncation cut off, "" if none.
  std::vector<std::string> truncated;
};

// transformers' T5Tokenizer over a tokenizer folder (spiece.model, tokenizer_config.json, added tokens).
class T5Tokenizer {
 public:
  // Error(model) naming the file for a missing, broken or absurd one.
  [[nodiscard]] static T5Tokenizer from_pretrained(const std::filesystem::path& folder);

  // Ids with the closing </s>, not padded or cut. Invalid UTF-8 is an Error(usage) with the position.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const;
  // Each text cut to `max_length` (</s> kept last) and padded on the right to it.
  [[nodiscard]] TokenBatch encode_batch(const std::vector<std::string>& texts, std::int64_t max_length) const;
  [[nodiscard]] std::int64_t vocabulary_size() const;

  T5Tokenizer(T5Tokenizer&&) noexcept;
  T5Tokenizer& operator=(T5Tokenizer&&) noexcept;
  ~T5Tokenizer();

 private:
  struct State;
  explicit T5Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace perfuse
