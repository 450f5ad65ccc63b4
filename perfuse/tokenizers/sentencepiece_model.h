// Reading a SentencePiece model file (spiece.model): a protobuf of the vocabulary and the
// normalisation rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

struct SentencePieceModel {
  // As the format numbers them.
  enum class Type : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };
  std::vector<Piece> pieces;  // the index is the id
  std::string charsmap;       // precompiled normalisation (see Charsmap), empty for none
};

// Error(model), beginning with `origin` (a file name), unless `bytes` are a whole Unigram model with
// distinct, non-empty, UTF-8 pieces and finite scores. Files of another kind (a Git LFS pointer, an HTML
// page) are named as what they are.
[[nodiscard]] SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& origin);

}  // namespace perfuse
