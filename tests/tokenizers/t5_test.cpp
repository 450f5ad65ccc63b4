// Ids against transformers 5.24: data/golden/tokenizers.json.
#include "perfuse/tokenizers/t5.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/tensor/safetensors.h"
#include "perfuse/tokenizers/text_case.h"

namespace perfuse {
namespace {

const std::string kTiny = PERFUSE_TEST_DATA "/models/tiny-pixart-alpha/tokenizer";
const std::string kEmoji = PERFUSE_SOURCE_DIR "/models/emoji-pixart/tokenizer";
using Ids = std::vector<std::int32_t>;

const T5Tokenizer& tiny() {
  static const auto tokenizer = T5Tokenizer::from_pretrained(kTiny);
  return tokenizer;
}

TEST(T5, GoldenIds) {
  const auto json = read_json(PERFUSE_TEST_DATA "/golden/tokenizers.json");
  ASSERT_GE(json.at("t5").size(), 189u);
  for (const auto& entry : json.at("t5")) {
    const auto text = entry.at("text").get<std::string>();
    EXPECT_EQ(tiny().encode(text), entry.at("ids").get<Ids>()) << text;
  }
}

TEST(T5, GoldenPixArtPrompts) {
  const auto json = read_json(PERFUSE_TEST_DATA "/golden/tokenizers.json");
  ASSERT_GE(json.at("pixart_text_preprocessing").size(), 60u);
  for (const auto& entry : json.at("pixart_text_preprocessing")) {
    const auto text = entry.at("text").get<std::string>();
    EXPECT_EQ(tiny().encode(lower_and_strip(text)), entry.at("ids_raw").get<Ids>()) << text;
    EXPECT_EQ(tiny().encode(entry.at("alpha_clean").get<std::string>()), entry.at("ids_clean").get<Ids>())
        << text;
  }
}

// Expected ids from transformers 5.24 with the same folder.
TEST(T5, BeyondTheGoldens) {
  EXPECT_EQ(tiny().vocabulary_size(), 1100);
  // Full-width forms normalise to a special token's text, which is then an ordinary piece.
  EXPECT_EQ(tiny().encode("\uff1cextra_id_7\uff1e"), (Ids{5, 1092, 1}));
  EXPECT_EQ(tiny().encode("a</s></s>b<extra_id_0> c"), (Ids{9, 1, 1, 74, 1099, 177, 1}));
  // A base letter that is a key takes its combining mark along.
  EXPECT_EQ(tiny().encode("\uff41\u0301x"), (Ids{9, 174, 1}));
  EXPECT_EQ(tiny().encode("a\u2581\u2581b \u2581"), (Ids{9, 74, 1}));
  EXPECT_EQ(tiny().encode("a\r\nb\rc"), (Ids{9, 74, 177, 1}));
  EXPECT_EQ(tiny().encode(std::string_view("a\0b \0", 5)), (Ids{9, 2, 72, 5, 2, 1}));
  // Near-ties that single-precision sums break the other way.
  EXPECT_EQ(tiny().encode("oughUniverscurre--------------"),
            (Ids{5, 590, 173, 35, 630, 190, 985, 54, 54, 503, 1}));
}

TEST(T5, Batch) {
  const auto batch = tiny().encode_batch({"a photo of a cat", "", "a b </s> c"}, 6);
  EXPECT_EQ(batch.rows, 3);
  EXPECT_EQ(batch.length, 6);
  EXPECT_EQ(batch.ids.size(), 18u);
  EXPECT_EQ(batch.mask, (Ids{1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0}));
  auto whole = tiny().encode("a photo of a cat");
  ASSERT_GT(whole.size(), 6u);
  whole.resize(6);
  whole.back() = 1;
  EXPECT_TRUE(std::equal(whole.begin(), whole.end(), batch.ids.begin()));
  EXPECT_EQ(Ids(batch.ids.begin() + 6, batch.ids.begin() + 12), (Ids{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.truncated[1], "");
  EXPECT_FALSE(batch.truncated[0].empty());
  const std::string text = "a photo of a cat";
  EXPECT_TRUE(text.ends_with(batch.truncated[0])) << batch.truncated[0];

  EXPECT_EQ(tiny().encode_batch({"a"}, 1).ids, (Ids{1}));
  EXPECT_EQ(tiny().encode_batch({"a"}, 1).truncated[0], "a");
  EXPECT_EQ(tiny().encode_batch({"<extra_id_3> a"}, 1).truncated[0], "<extra_id_3> a");
  EXPECT_EQ(tiny().encode_batch({"a"}, 2).truncated[0], "");
  EXPECT_EQ(tiny().encode_batch({}, 4).ids.size(), 0u);
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{-3}, std::int64_t{1} << 40})
    EXPECT_THROW((void)tiny().encode_batch({"a"}, length), Error) << length;
}

TEST(T5, InvalidUtf8NamesThePosition) {
  for (const auto& text : {std::string("abc\xff"), std::string("abc\xc3"), std::string("abc\xed\xa0\x80"),
                           std::string("abc\xc0\x80"), std::string("abc\xf4\x90\x80\x80")}) {
    try {
      (void)tiny().encode(text);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("byte 3"), std::string::npos) << error.what();
    }
  }
}

// 1 MB takes about 0.1 s; the bound leaves room for sanitizers on a busy machine.
TEST(T5, LongPromptsTakeLinearTime) {
  for (const std::string unit :
       {"a photo of a cat ", "a", "\u00e9", "<", "e\u0301", "\u2581", "</s>", "\u200d", " "}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    const auto start = std::chrono::steady_clock::now();
    const auto batch = tiny().encode_batch({text}, 300);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(batch.ids.size(), 300u);
    EXPECT_LT(seconds.count(), 5.0) << unit;
  }
}

TEST(T5Emoji, GoldenIds) {
  const auto tokenizer = T5Tokenizer::from_pretrained(kEmoji);
  EXPECT_EQ(tokenizer.vocabulary_size(), 558);
  const std::string golden = PERFUSE_TEST_DATA "/golden/emoji-pixart/golden";
  const auto prompts = read_json(golden + ".json").at("prompts").get<std::vector<std::string>>();
  const auto file = SafetensorsFile::open(golden + ".safetensors");
  ASSERT_EQ(prompts.size(), 3u);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto ids = file.tensor(fmt::format("p{}.input_ids", i)).to(DType::i32);
    const auto wanted = ids.data<std::int32_t>();
    EXPECT_EQ(tokenizer.encode_batch({lower_and_strip(prompts[i])}, 32).ids,
              Ids(wanted.begin(), wanted.end()));
  }
}

}  // namespace
}  // namespace perfuse
