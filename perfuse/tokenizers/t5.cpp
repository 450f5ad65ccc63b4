#include "perfuse/tokenizers/t5.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <span>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/t5_folder.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";  // ▁, stands for the space before a word
constexpr std::int64_t kLongestRow = 1'000'000;

// Calls f with each word: text without white space, with one ▁ before it, cut before every further ▁.
template <class F> void for_each_word(std::string_view text, const F& f) {
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) f(word);
    word.clear();
  };
  bool between = true;  // the next character begins a word
  for (std::size_t next = 0, i = 0; i < text.size(); i = next) {
    const char32_t c = next_character(text, next);
    const auto character = text.substr(i, next - i);
    if (u_isUWhiteSpace(static_cast<UChar32>(c))) {
      between = true;
      continue;
    }
    if (between || character == kSpaceMark) finish();
    if (between && character != kSpaceMark) word = kSpaceMark;
    word += character;
    between = false;
  }
  finish();
}

}  // namespace

struct T5Tokenizer::State {
  Unigram unigram;
  Charsmap charsmap;
  AddedTokens added;
  std::int32_t pad, eos;
  std::int32_t size;  // ids are below it

  // Without the closing </s>.
  void encode(std::string_view text, std::vector<std::int32_t>& ids) const {
    for (const auto& raw : added.split_raw(text)) {
      if (raw.id >= 0) {
        ids.push_back(raw.id);
        continue;
      }
      const std::string normalized = charsmap.normalize(raw.text);
      for (const auto& part : added.split_normalized(normalized)) {
        if (part.id >= 0)
          ids.push_back(part.id);
        else
          for_each_word(part.text, [&](std::string_view word) { unigram.encode(word, ids); });
      }
    }
  }

  // The text of tokens, for a person: normalised, without its leading space.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const {
    std::string text;
    for (const auto id : ids) {
      std::string_view token = token_text(id);
      for (auto at = token.find(kSpaceMark); at != std::string_view::npos; at = token.find(kSpaceMark)) {
        text += token.substr(0, at);
        text += ' ';
        token.remove_prefix(at + kSpaceMark.size());
      }
      text += token;
    }
    return text.starts_with(' ') ? text.substr(1) : text;
  }

  [[nodiscard]] std::string_view token_text(std::int32_t id) const {
    const auto& pieces = unigram.pieces();
    if (std::cmp_less(id, pieces.size())) return pieces[static_cast<std::size_t>(id)].text;
    const auto& tokens = added.tokens();
    return std::find_if(tokens.begin(), tokens.end(), [&](const auto& token) { return token.id == id; })
        ->content;
  }
};

T5Tokenizer::T5Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
T5Tokenizer::T5Tokenizer(T5Tokenizer&&) noexcept = default;
T5Tokenizer& T5Tokenizer::operator=(T5Tokenizer&&) noexcept = default;
T5Tokenizer::~T5Tokenizer() = default;

T5Tokenizer T5Tokenizer::from_pretrained(const std::filesystem::path& folder) {
  auto files = read_t5_folder(folder);
  auto size = static_cast<std::int32_t>(files.unigram.pieces().size());
  for (const auto& token : files.added) size = std::max(size, token.id + 1);
  AddedTokens added(std::move(files.added), files.charsmap);
  return T5Tokenizer(std::make_unique<State>(State{std::move(files.unigram), std::move(files.charsmap),
                                                   std::move(added), files.pad, files.eos, size}));
}

std::vector<std::int32_t> T5Tokenizer::encode(std::string_view text) const {
  if (const auto at = find_invalid_utf8(text))
    fail(ErrorKind::usage, "the prompt {} is not valid UTF-8 at byte {}; give it in UTF-8", quote(text), *at);
  std::vector<std::int32_t> ids;
  state_->encode(text, ids);
  ids.push_back(state_->eos);
  return ids;
}

TokenBatch T5Tokenizer::encode_batch(const std::vector<std::string>& texts, std::int64_t max_length) const {
  if (max_length < 1 || max_length > kLongestRow)
    fail(ErrorKind::usage, "max_sequence_length is {}, expected 1 to {}", max_length, kLongestRow);
  const auto length = static_cast<std::size_t>(max_length);
  TokenBatch batch;
  batch.rows = static_cast<std::int64_t>(texts.size());
  batch.length = max_length;
  for (const auto& text : texts) {
    auto ids = encode(text);
    std::string cut;
    if (ids.size() > length) {
      const std::span<const std::int32_t> all(ids);
      cut = state_->decode(all.subspan(length - 1, all.size() - length));
      ids.resize(length);
      ids.back() = state_->eos;
    }
    batch.truncated.push_back(std::move(cut));
    const std::size_t padding = length - ids.size();
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.ids.insert(batch.ids.end(), padding, state_->pad);
    batch.mask.insert(batch.mask.end(), ids.size(), 1);
    batch.mask.insert(batch.mask.end(), padding, 0);
  }
  return batch;
}

std::int64_t T5Tokenizer::vocabulary_size() const { return state_->size; }

}  // namespace perfuse
