// The expected texts are those of ftfy 6.3.1.
#include "perfuse/tokenizers/text_repair.h"

#include <gtest/gtest.h>

#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

std::string fix(std::string_view text) {
  CleaningBudget budget;
  return to_utf8(fix_text(to_utf32(text), budget));
}

TEST(TextRepair, CharactersForPlainOnes) {
  EXPECT_EQ(fix("„a“ ‚b‘ «c» it’s ʼn"), "\"a\" 'b' «c» it's 'n");
  EXPECT_EQ(fix("ﬁ ﬅ ŉ ǆ Ĳ"), "fi ſt 'n dž IJ");
  EXPECT_EQ(fix("ＡＢ　ｶﾞ ￣ ￨"), "AB ガ  \u0304 │");
  EXPECT_EQ(fix("e\u0301"), "é");
}

TEST(TextRepair, LinesAndControls) {
  EXPECT_EQ(fix("a\r\nb\rc\u2028d\u0085e"), "a\nb\nc\nd…e");
  EXPECT_EQ(fix("a\x1b[31mb\x1b[0mc\x1b[d\x1b"
                "e"),
            "abce");
  EXPECT_EQ(fix("b\ufeffc\ufff9d\u206ae\x7f"
                "f\u200dg"),
            "bcdef\u200dg");
}

TEST(TextRepair, EntitiesUntilTheFirstAngleBracket) {
  EXPECT_EQ(fix("&lt;b&gt; &EACUTE; &SZLIG; &copy &#59; &#12ab; &nTILDE;"),
            "<b> É SS &copy &#59; &#12ab; &nTILDE;");
  EXPECT_EQ(fix("&lt;\n&lt;"), "<\n<");
  EXPECT_EQ(fix("<b &lt;\n&lt;"), "<b &lt;\n&lt;");
}

TEST(TextRepair, Mojibake) {
  EXPECT_EQ(fix("schÃ¶n"), "schön");
  EXPECT_EQ(fix("â€œaâ€\u009d"), "\"a\"");
  EXPECT_EQ(fix("â€œaâ€\ufffd"), "\"a\ufffd");
  EXPECT_EQ(fix("Ã la mode, voilÃ  le"), "à la mode, voilà le");
  EXPECT_EQ(fix("ÐŸÑ€Ð¸Ð²ÐµÑ‚"), "Привет");
  EXPECT_EQ(fix("РџСЂРёРІРµС‚"), "Привет");
  EXPECT_EQ(fix("ÃƒÂ©"), "é");
  EXPECT_EQ(fix("l’Ã©glise 日本"), "l'église 日本");
  EXPECT_EQ(fix("ðŸ˜€"), "😀");
  EXPECT_EQ(fix("í\u00a0½í¸\u0080 À\u0080Ã©"), "😀 é");
  EXPECT_EQ(fix("‚Äúx‚Äù"), "\"x\"");
  EXPECT_EQ(fix("\u0092s"), "'s");
}

TEST(TextRepair, LeavesGoodTextAlone) {
  for (const std::string_view good : {"naïve café – «ça»", "Sch├╢n", "Ελλάδα", "한국어"})
    EXPECT_EQ(fix(good), good);
}

}  // namespace
}  // namespace perfuse
