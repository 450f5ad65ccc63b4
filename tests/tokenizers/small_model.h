// A SentencePiece model of a few pieces, written field by field, for tests that break one thing in it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse::test {

// Protobuf's wire form.
inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7fu) | 0x80u);
  return out + static_cast<char>(value);
}
inline std::string bytes_field(std::uint64_t number, std::string_view bytes) {
  return varint(number << 3 | 2u) + varint(bytes.size()) + std::string(bytes);
}
inline std::string varint_field(std::uint64_t number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}
inline std::string u32(std::uint32_t value) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffu);
  return out;
}

struct SmallPiece {
  std::string text;
  float score;
  std::uint64_t type = 1;
};

inline std::string piece_field(const SmallPiece& piece) {
  return bytes_field(1, bytes_field(1, piece.text) + varint(2u << 3 | 5u) +
                            u32(std::bit_cast<std::uint32_t>(piece.score)) + varint_field(3, piece.type));
}

// A charsmap whose only rule is A -> a.
inline std::string small_charsmap() {
  std::vector<std::uint32_t> units(67, 0);
  units[0] = 1u << 10;                       // root: children at 1 ^ byte
  units[64] = (2u << 10) | (1u << 8) | 'A';  // its leaf at 64 ^ 2
  units[66] = (1u << 31) | 0u;               // the replacement at byte 0
  std::string trie;
  for (const auto unit : units) trie += u32(unit);
  return u32(static_cast<std::uint32_t>(trie.size())) + trie + std::string("a\0", 2);
}

inline std::vector<SmallPiece> small_pieces() {
  return {{"<pad>", 0, 3}, {"</s>", 0, 3},     {"<unk>", 0, 2}, {"\u2581", -2}, {"a", -3},
          {"b", -3},       {"\u2581a", -2.5F}, {"ab", -3.5F},   {"\u00e9", -4}};
}

inline std::string small_model(const std::vector<SmallPiece>& pieces = small_pieces(),
                               const std::string& charsmap = small_charsmap(), std::uint64_t model_type = 1) {
  std::string out;
  for (const auto& piece : pieces) out += piece_field(piece);
  out += bytes_field(2, varint_field(3, model_type) + varint_field(4, pieces.size()));
  return out + bytes_field(3, bytes_field(1, "small") + bytes_field(2, charsmap));
}

}  // namespace perfuse::test
