#include "perfuse/tokenizers/sentencepiece_model.h"

#include <bit>
#include <optional>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

// Field numbers of the format.
constexpr std::uint64_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
constexpr std::uint64_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr std::uint64_t kModelType = 3;
constexpr std::uint64_t kCharsmap = 2;
constexpr std::uint64_t kUnigram = 1;

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint64_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0;  // varint, fixed64, fixed32
  std::string_view bytes = {};
};

// The fields of one protobuf message, in file order.
class Message {
 public:
  // `offset` is where `bytes` begin in the file, for messages.
  Message(std::string_view bytes, std::size_t offset, const std::string& origin)
      : bytes_(bytes), offset_(offset), origin_(origin) {}

  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    start_ = at_;
    const std::uint64_t tag = varint();
    Field field{.number = tag >> 3, .wire = static_cast<Wire>(tag & 7u)};
    if (field.number == 0) broken("a field number 0");
    switch (field.wire) {
      case Wire::varint: field.value = varint(); break;
      case Wire::fixed64: field.value = fixed(8); break;
      case Wire::fixed32: field.value = fixed(4); break;
      case Wire::bytes: field.bytes = take(varint()); break;
      default: broken("a field of an unknown kind");
    }
    return field;
  }

  // The message inside `field`.
  [[nodiscard]] Message inside(const Field& field) const {
    expect(field, Wire::bytes);
    return {field.bytes, offset_ + static_cast<std::size_t>(field.bytes.data() - bytes_.data()), origin_};
  }

  void expect(const Field& field, Wire wire) const {
    if (field.wire != wire) broken("a field of another kind than the format has");
  }

  [[noreturn]] void broken(std::string_view what) const {
    fail(ErrorKind::model, "{}: not a SentencePiece model, or damaged: {} at byte {}; fetch the file again",
         origin_, what, offset_ + start_);
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) broken("a field that reaches past the end (a truncated file?)");
    const auto result = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += result.size();
    return result;
  }

  std::uint64_t fixed(std::size_t size) {
    std::uint64_t value = 0;
    const auto raw = take(size);
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(raw[i])} << (8 * i);
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80u) == 0) return value;
    }
    broken("a number of more than 64 bits");
  }

  std::string_view bytes_;
  std::size_t offset_;
  const std::string& origin_;
  std::size_t at_ = 0, start_ = 0;
};

SentencePieceModel::Piece parse_piece(Message message) {
  SentencePieceModel::Piece piece;
  while (const auto field = message.next()) {
    switch (field->number) {
      case kPieceText:
        message.expect(*field, Wire::bytes);
        piece.text = field->bytes;
        break;
      case kPieceScore:
        message.expect(*field, Wire::fixed32);
        piece.score = std::bit_cast<float>(static_cast<std::uint32_t>(field->value));
        break;
      case kPieceType:
        message.expect(*field, Wire::varint);
        if (field->value < 1 || field->value > 6) message.broken("a piece of an unknown type");
        piece.type = static_cast<SentencePieceModel::Type>(field->value);
        break;
      default: break;
    }
  }
  return piece;
}

void check_kind(std::string_view bytes, const std::string& origin) {
  if (bytes.empty()) fail(ErrorKind::model, "{}: the file is empty, expected a SentencePiece model", origin);
  if (bytes.starts_with("version https://git-lfs"))
    fail(ErrorKind::model, "{}: this is a Git LFS pointer, not the model itself; run git lfs pull", origin);
  if (bytes.starts_with("<!") || bytes.starts_with("<html"))
    fail(ErrorKind::model, "{}: this is an HTML page, not a SentencePiece model; download the raw file",
         origin);
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& origin) {
  check_kind(bytes, origin);
  SentencePieceModel model;
  std::uint64_t model_type = kUnigram;
  bool trainer = false, normalizer = false;
  Message message(bytes, 0, origin);
  while (const auto field = message.next()) {
    if (field->number == kPieces) {
      model.pieces.push_back(parse_piece(message.inside(*field)));
    } else if (field->number == kTrainerSpec) {
      trainer = true;
      auto inner = message.inside(*field);
      while (const auto setting = inner.next()) {
        if (setting->number != kModelType) continue;
        inner.expect(*setting, Wire::varint);
        model_type = setting->value;
      }
    } else if (field->number == kNormalizerSpec) {
      normalizer = true;
      auto inner = message.inside(*field);
      while (const auto setting = inner.next()) {
        if (setting->number != kCharsmap) continue;
        inner.expect(*setting, Wire::bytes);
        model.charsmap = setting->bytes;
      }
    }
  }
  // Every trainer writes both, after the pieces: a file cut between two pieces parses without them.
  if (!trainer || !normalizer)
    fail(ErrorKind::model, "{}: has {} pieces but no {}: the file is truncated, or not a SentencePiece model",
         origin, model.pieces.size(), trainer ? "normalizer_spec" : "trainer_spec");
  if (model_type != kUnigram)
    fail(ErrorKind::unsupported,
         "{}: SentencePiece model type {}; perfuse reads type 1 (Unigram), which T5 uses", origin,
         model_type);
  return model;
}

}  // namespace perfuse
