// The expected texts are those of Python's html.unescape.
#include "perfuse/tokenizers/html_unescape.h"

#include <gtest/gtest.h>

#include "perfuse/tokenizers/utf8.h"

namespace perfuse {
namespace {

std::string unescape(std::string_view html) { return to_utf8(html_unescape(to_utf32(html))); }

TEST(HtmlUnescape, AsPython) {
  EXPECT_EQ(unescape("&amp &copyright &notit; &notin; &gt"), "& ©right ¬it; ∉ >");
  EXPECT_EQ(unescape("&#x80; &#0; &#1;x &#xd800; &#38;lt; &#99999999999999999999;"),
            "€ \ufffd x \ufffd &lt; \ufffd");
  EXPECT_EQ(unescape("&foo; &; &# &#x; &am"), "&foo; &; &# &#x; &am");
  EXPECT_EQ(unescape("&NotEqualTilde;&fjlig;&CounterClockwiseContourIntegral;"), "≂̸fj∳");
}

}  // namespace
}  // namespace perfuse
