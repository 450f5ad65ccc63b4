// The expected texts are those of Python's urllib.parse.unquote_plus.
#include "perfuse/tokenizers/percent_encoding.h"

#include <gtest/gtest.h>

namespace perfuse {
namespace {

TEST(PercentEncoding, AsPython) {
  EXPECT_EQ(unquote_plus("a+b%20c%2B"), "a b c+");
  EXPECT_EQ(unquote_plus("%C3%A9%c3"), "é\ufffd");
  EXPECT_EQ(unquote_plus("%C3é%A9"), "\ufffdé\ufffd");
  EXPECT_EQ(unquote_plus("% %4 %zz%41"), "% %4 %zzA");
  EXPECT_EQ(unquote_plus("%E2%82x"), "\ufffdx");
  EXPECT_EQ(unquote_plus("%ED%A0%80"), "\ufffd\ufffd\ufffd");
}

}  // namespace
}  // namespace perfuse
