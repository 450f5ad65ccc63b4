#include "perfuse/tokenizers/text_case.h"

#include <gtest/gtest.h>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"

namespace perfuse {
namespace {

TEST(TextCase, GoldenPrompts) {
  const auto json = read_json(PERFUSE_TEST_DATA "/golden/tokenizers.json");
  const auto& entries = json.at("pixart_text_preprocessing");
  ASSERT_GE(entries.size(), 60u);
  for (const auto& entry : entries) {
    const auto text = entry.at("text").get<std::string>();
    EXPECT_EQ(lower_and_strip(text), entry.at("alpha_raw").get<std::string>());
    EXPECT_EQ(lower_and_strip(text), entry.at("sigma_raw").get<std::string>());
  }
}

TEST(TextCase, AsPython) {
  EXPECT_EQ(lower_and_strip(""), "");
  EXPECT_EQ(lower_and_strip(" \t\r\n\v\f "), "");
  EXPECT_EQ(lower_and_strip("\u03a3\u0399\u03a3\u03a5\u03a6\u039f\u03a3"),
            "\u03c3\u03b9\u03c3\u03c5\u03c6\u03bf\u03c2");
  EXPECT_EQ(lower_and_strip("\u03a3"), "\u03c3");  // alone: not final
  EXPECT_EQ(lower_and_strip("A\u03a3'B A\u03a3'"), "a\u03c3'b a\u03c2'");
  EXPECT_EQ(lower_and_strip("\u0130I"), "i\u0307i");
  EXPECT_EQ(lower_and_strip("\u1e9e \u01c5 \u2126 \u212a"), "\u00df \u01c6 \u03c9 k");
  EXPECT_EQ(lower_and_strip("\u0085\u00a0A B\u00a0\u0085"), "a b");
  EXPECT_EQ(lower_and_strip("\x1c\x1d\x1e\x1f"
                            "A\x1f B\x1c\x1d\x1e\x1f"),
            "a\x1f b");
  EXPECT_EQ(lower_and_strip("\u3000\u2028\u2029\u1680\u200a\u202f\u205fX\u3000"), "x");
  EXPECT_EQ(lower_and_strip("\u200b A \ufeff"), "\u200b a \ufeff");  // no white space to Python
  EXPECT_EQ(lower_and_strip(std::string_view("A\0B\0", 4)), std::string("a\0b\0", 4));
  EXPECT_EQ(lower_and_strip(std::string(1 << 20, 'A')), std::string(1 << 20, 'a'));
}

TEST(TextCase, InvalidUtf8) {
  try {
    (void)lower_and_strip("ab\xff");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("byte 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace perfuse
