// Tokenizer folders that are unusual, contradictory or hostile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/base64.h"
#include "perfuse/tokenizers/t5.h"
#include "tests/tokenizers/small_model.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;
using namespace test;
using Ids = std::vector<std::int32_t>;

class T5FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("perfuse_t5_{}_{}", info->name(), getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  [[nodiscard]] T5Tokenizer load() const { return T5Tokenizer::from_pretrained(folder_); }
  // The message of loading, which must fail; `parts` must be in it.
  void refused(std::initializer_list<std::string_view> parts) const {
    try {
      (void)load();
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(error.kind(), ErrorKind::usage) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      for (const auto part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << message << "\nlacks: " << part;
      return;
    }
    ADD_FAILURE() << "no error";
  }

  fs::path folder_;
};

TEST_F(T5FolderTest, ModelAlone) {
  write("spiece.model", small_model());
  const auto tokenizer = load();
  EXPECT_EQ(tokenizer.vocabulary_size(), 109);  // and 100 <extra_id_*>
  EXPECT_EQ(tokenizer.encode("a ab"), (Ids{6, 3, 7, 1}));
  EXPECT_EQ(tokenizer.encode("Aab"), (Ids{6, 7, 1}));
  EXPECT_EQ(tokenizer.encode("b xyz \u00e9"), (Ids{3, 5, 3, 2, 3, 8, 1}));
  EXPECT_EQ(tokenizer.encode("<extra_id_0><extra_id_99>"), (Ids{108, 9, 1}));
  EXPECT_EQ(tokenizer.encode("a\u2581\u2581b"), (Ids{6, 3, 3, 5, 1}));
  EXPECT_EQ(tokenizer.encode(""), (Ids{1}));
}

TEST_F(T5FolderTest, NoCharsmap) {
  write("spiece.model", small_model(small_pieces(), ""));
  EXPECT_EQ(load().encode("Aa \u00e9"), (Ids{3, 2, 4, 3, 8, 1}));
}

// The forms of added tokens and their white space, as transformers 5.24 has them.
TEST_F(T5FolderTest, AddedTokens) {
  write("spiece.model", small_model());
  write("tokenizer_config.json", R"({"extra_ids": 0, "added_tokens_decoder": {
    "9": {"content": "<x>", "lstrip": true, "rstrip": true, "special": true},
    "10": {"content": "bb", "single_word": true, "normalized": false},
    "11": {"content": "<xx>", "special": true},
    "12": {"content": "AAA", "normalized": true}}})");
  const auto tokenizer = load();
  EXPECT_EQ(tokenizer.vocabulary_size(), 13);
  EXPECT_EQ(tokenizer.encode("a <x> b<x>"), (Ids{6, 9, 3, 5, 9, 1}));
  EXPECT_EQ(tokenizer.encode("a<xx>a <x <x>"), (Ids{6, 11, 6, 3, 2, 9, 1}));
  EXPECT_EQ(tokenizer.encode("bb abb bb."), (Ids{10, 3, 7, 5, 10, 3, 2, 1}));
  EXPECT_EQ(tokenizer.encode("aAa"), (Ids{12, 1}));
}

TEST_F(T5FolderTest, LegacyFiles) {
  write("spiece.model", small_model());
  write("added_tokens.json", R"({"<new>": 109, "<extra_id_0>": 108})");
  write("special_tokens_map.json",
        R"({"additional_special_tokens": ["<new>"], "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(load().vocabulary_size(), 110);
  EXPECT_EQ(load().encode("a<new>"), (Ids{6, 109, 1}));
}

TEST_F(T5FolderTest, TokenizerJsonAlone) {
  // The charsmap of one rule, A -> a, in base64.
  write(
      "tokenizer.json",
      R"({"added_tokens": [{"id": 1, "content": "</s>", "special": true}, {"id": 0, "content": "<pad>", "special": true}],
            "normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"}]},
            "model": {"type": "Unigram", "vocab": [["<pad>", 0], ["</s>", 0.0], ["<unk>", 0], ["\u2581a", -1.5]]}})");
  EXPECT_EQ(load().encode("a x</s>"), (Ids{3, 2, 1, 1}));
}

TEST_F(T5FolderTest, MissingEmptyOrOfAnotherKind) {
  refused({"spiece.model", "tokenizer.json"});
  write("spiece.model", "");
  refused({"spiece.model", "empty"});
  write("spiece.model", "version https://git-lfs.example/spec/v1\noid sha256:0\nsize 9\n");
  refused({"spiece.model", "Git LFS pointer"});
  write("spiece.model", "<!DOCTYPE html><html></html>");
  refused({"spiece.model", "HTML"});
  write("spiece.model", std::string(100, '\xff'));
  refused({"spiece.model", "not a SentencePiece model"});
  write("spiece.model", std::string(100, '\0'));
  refused({"spiece.model", "not a SentencePiece model"});
  fs::resize_file(folder_ / "spiece.model", 5'000'000'000);  // sparse
  refused({"spiece.model"});
  fs::remove(folder_ / "spiece.model");
  fs::create_directory(folder_ / "spiece.model");
  refused({"spiece.model"});
  fs::remove(folder_ / "spiece.model");
  ASSERT_EQ(mkfifo((folder_ / "spiece.model").c_str(), 0600), 0);
  refused({"spiece.model"});
  fs::remove(folder_ / "spiece.model");
  fs::create_symlink("spiece.model", folder_ / "spiece.model");
  refused({"spiece.model"});
}

TEST_F(T5FolderTest, TruncatedAnywhere) {
  const auto model = small_model();
  for (std::size_t size = 0; size < model.size(); ++size) {
    write("spiece.model", std::string_view(model).substr(0, size));
    refused({"spiece.model"});
  }
}

// Damage may go unnoticed, but never crashes, here or in encoding.
TEST_F(T5FolderTest, EveryByteFlipped) {
  const auto model = small_model();
  for (std::size_t i = 0; i < model.size(); ++i) {
    for (const int mask : {0x01, 0xff}) {
      auto damaged = model;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      write("spiece.model", damaged);
      try {
        (void)load().encode("Aab \u00e9 A\u0301 xyz</s>");
      } catch (const Error& error) {
        EXPECT_NE(error.kind(), ErrorKind::usage) << error.what();
      }
    }
  }
}

TEST_F(T5FolderTest, ContradictoryVocabulary) {
  const auto with = [&](const SmallPiece& piece) {
    auto pieces = small_pieces();
    pieces.push_back(piece);
    write("spiece.model", small_model(pieces));
  };
  with({"a", -1});
  refused({"pieces 4 and 9", "\"a\""});
  with({"", -1});
  refused({"piece 9", "0 bytes"});
  with({"\xff", -1});
  refused({"piece 9", "UTF-8"});
  with({std::string(300, 'a'), -1});
  refused({"piece 9", "300 bytes"});
  with({"c", std::numeric_limits<float>::quiet_NaN()});
  refused({"piece 9", "nan"});
  with({"c", -std::numeric_limits<float>::infinity()});
  refused({"piece 9", "-inf"});
  with({"c", -1, 77});
  refused({"unknown type"});
  auto pieces = small_pieces();
  std::swap(pieces[2], pieces[3]);
  write("spiece.model", small_model(pieces));
  refused({"piece 2", "not a T5 vocabulary"});
  write("spiece.model", small_model({{"<pad>", 0, 3}}));
  refused({"not a T5 vocabulary"});
  write("spiece.model", small_model(small_pieces(), small_charsmap(), 2));
  refused({"type 2", "Unigram"});
}

TEST_F(T5FolderTest, BrokenCharsmap) {
  const auto with = [&](const std::string& charsmap) {
    write("spiece.model", small_model(small_pieces(), charsmap));
  };
  const auto good = small_charsmap();
  with("ab");
  refused({"precompiled_charsmap"});
  with(u32(0) + "a");
  refused({"precompiled_charsmap"});
  with(u32(7) + "abcdefghij");
  refused({"precompiled_charsmap"});
  with(u32(0xfffffffc) + "abcd");
  refused({"precompiled_charsmap"});
  with(good.substr(0, good.size() - 1));
  refused({"precompiled_charsmap", "no end"});
  with(good + std::string("\xff\0", 2));
  refused({"precompiled_charsmap", "UTF-8"});
  with(u32(8) + u32(1u << 10) + u32(1u << 31 | 5u) + std::string("a\0", 2));
  refused({"precompiled_charsmap", "byte 5 of 2"});
  // A trie whose steps lead outside finds nothing.
  with(u32(4) + u32(0xfffffdffu & ~(1u << 31)) + std::string("a\0", 2));
  EXPECT_EQ(load().encode("a"), (Ids{6, 1}));
}

TEST_F(T5FolderTest, BrokenJson) {
  write("spiece.model", small_model());
  const auto config = [&](std::string_view text) { write("tokenizer_config.json", text); };
  for (const std::string_view text :
       {"", "{", "[]", "version https://git-lfs.example/spec/v1", "{\"a\": \"\xff\"}"}) {
    config(text);
    refused({"tokenizer_config.json"});
  }
  config(R"({"extra_ids": -1})");
  refused({"tokenizer_config.json", "extra_ids"});
  config(R"({"extra_ids": 1e18})");
  refused({"tokenizer_config.json", "extra_ids"});
  config(R"({"added_tokens_decoder": []})");
  refused({"tokenizer_config.json", "added_tokens_decoder"});
  config(R"({"added_tokens_decoder": {"x": {"content": "<x>"}}})");
  refused({"tokenizer_config.json", "added_tokens_decoder", "\"x\""});
  config(R"({"added_tokens_decoder": {"109": 5}})");
  refused({"tokenizer_config.json", "added_tokens_decoder.109"});
  config(R"({"added_tokens_decoder": {"109": {"lstrip": true}}})");
  refused({"added_tokens_decoder.109", "content"});
  config(R"({"added_tokens_decoder": {"109": {"content": ""}}})");
  refused({"added_tokens_decoder.109", "0 bytes"});
  config(R"({"added_tokens_decoder": {"109": {"content": "<x>", "lstrip": "yes"}}})");
  refused({"added_tokens_decoder.109", "lstrip"});
  config(R"({"eos_token": 7})");
  refused({"tokenizer_config.json", "eos_token"});
  config(R"({"additional_special_tokens": [[1]]})");
  refused({"tokenizer_config.json", "additional_special_tokens"});
  config("{}");
  for (const std::string_view text :
       {"", "[1]", R"({"<x>": "7"})", R"({"<x>": -1})", R"({"<x>": 1e30})", R"({"": 109})"}) {
    write("added_tokens.json", text);
    refused({"added_tokens.json"});
  }
}

TEST_F(T5FolderTest, ContradictoryIds) {
  write("spiece.model", small_model());
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"5": {"content": "</s>", "special": true}}})");
  refused({"\"</s>\"", "id 5", "vocabulary 1"});
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"200": {"content": "<x>", "special": true}}})");
  refused({"\"<x>\"", "id 200", "109"});
  write("tokenizer_config.json",
        R"({"added_tokens_decoder": {"109": {"content": "<x>"}, "110": {"content": "<x>"}}})");
  refused({"\"<x>\"", "109", "110"});
  fs::remove(folder_ / "tokenizer_config.json");
  write("added_tokens.json", R"({"<extra_id_0>": 7})");
  refused({"added_tokens.json", "\"<extra_id_0>\"", "id 7", "108"});
}

TEST_F(T5FolderTest, BrokenTokenizerJson) {
  const auto json = [&](std::string_view text) { write("tokenizer.json", text); };
  json("{}");
  refused({"tokenizer.json", "model"});
  json(R"({"model": {"type": "BPE"}})");
  refused({"tokenizer.json", "BPE"});
  json(R"({"model": {"vocab": {"a": 1}}})");
  refused({"tokenizer.json", "vocab"});
  json(R"({"model": {"vocab": [["a", "b"]]}})");
  refused({"tokenizer.json", "vocab"});
  json(R"({"model": {"vocab": [["a", 0]]}})");
  refused({"tokenizer.json", "1 pieces"});
  json(
      R"({"model": {"vocab": [["a", 0], ["b", 0], ["c", 0]]}, "normalizer": {"precompiled_charsmap": "?"}})");
  refused({"tokenizer.json", "precompiled_charsmap", "base64"});
  json(R"({"model": {"vocab": [["a", 0], ["b", 0], ["c", 0]]}, "added_tokens": {"a": 1}})");
  refused({"tokenizer.json", "added_tokens"});
  json(R"({"model": {"vocab": [["a", 0], ["b", 0], ["c", 0]]}, "added_tokens": [{"content": "x"}]})");
  refused({"tokenizer.json", "id"});
}

TEST(Base64, Decodes) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("Zm8="), "fo");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("+/+/"), "\xfb\xff\xbf");
  for (const std::string_view bad : {"Z", "Zg", "Zg=", "Z===", "====", "Zg=a", "Z\n8="})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

}  // namespace
}  // namespace perfuse
