#include "perfuse/core/text.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace perfuse {
namespace {

TEST(Utf8, TakesWhatIsValid) {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("plain"), std::string_view("é 中 😀"),
        std::string_view("\xc2\x80"),
        std::string_view("\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"),
        std::string_view("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), std::string_view("a\0b", 3)})
    EXPECT_EQ(find_invalid_utf8(text), std::nullopt) << text;
}

TEST(Utf8, FindsTheFirstFault) {
  const std::pair<std::string_view, std::size_t> cases[] = {
      {"\x80", 0},              // continuation alone
      {"ab\xff", 2},            // never a lead
      {"\xc0\xaf", 0},          // overlong "/"
      {"\xc1\xbf", 0},          // overlong
      {"x\xe0\x80\xaf", 1},     // overlong, 3 bytes
      {"\xf0\x80\x80\xaf", 0},  // overlong, 4 bytes
      {"\xed\xa0\x80", 0},      // surrogate
      {"\xf4\x90\x80\x80", 0},  // over U+10FFFF
      {"\xf5\x80\x80\x80", 0},  //
      {"é\xe4\xb8", 2},         // cut
      {"\xe4\xb8x", 0},         // cut by another character
      {"\xf0\x9f\x98", 0},      //
  };
  for (const auto& [text, at] : cases)
    EXPECT_EQ(find_invalid_utf8(text), at) << ::testing::PrintToString(text);
}

const std::vector<std::string> kSchedulers{"DDIMScheduler", "DPMSolverMultistepScheduler",
                                           "EulerDiscreteScheduler", "EulerAncestralDiscreteScheduler"};

TEST(NearNames, FindsMistypedOnes) {
  EXPECT_EQ(near_names("EulerDiscretScheduler", kSchedulers).at(0), "EulerDiscreteScheduler");
  EXPECT_EQ(near_names("eulerdiscretescheduler", kSchedulers).at(0), "EulerDiscreteScheduler");
  EXPECT_EQ(near_names("DPMSolverMultistep", kSchedulers),
            std::vector<std::string>{"DPMSolverMultistepScheduler"});
  const std::vector<std::string> fields{"height", "width", "weight"};
  EXPECT_EQ(near_names("hieght", fields), (std::vector<std::string>{"height", "weight"}));
  EXPECT_EQ(near_names("", fields), std::vector<std::string>{});
  EXPECT_EQ(near_names("something else", fields), std::vector<std::string>{});
  EXPECT_EQ(near_names(std::string(1 << 20, 'h'), fields), std::vector<std::string>{});
}

TEST(NearNames, GivesThreeAtMostNearestFirst) {
  const std::vector<std::string> known{"block.9.x", "block.10.w", "block.0.w",
                                       "block.1.w", "block.2.w",  "block.1.v"};
  EXPECT_EQ(near_names("block.1.w", known),
            (std::vector<std::string>{"block.1.w", "block.10.w", "block.0.w"}));
}

TEST(UnknownName, SaysNearOrKnown) {
  EXPECT_EQ(unknown_name("scheduler", "EulerDiscret", kSchedulers),
            "unknown scheduler \"EulerDiscret\"; did you mean EulerDiscreteScheduler?");
  EXPECT_EQ(unknown_name("colour", "mauve", std::vector<std::string>{"red", "green"}),
            "unknown colour \"mauve\"; known: red, green");
  EXPECT_EQ(unknown_name("colour", "mauve", {}), "unknown colour \"mauve\"");
  const std::vector<std::string> many(25, "q");
  EXPECT_TRUE(unknown_name("x", "mauve", many).ends_with("q and 5 more"));
}

TEST(Quote, IsSafeInALine) {
  EXPECT_EQ(quote("apple"), "\"apple\"");
  EXPECT_EQ(quote("a\nb\t\"c\"\\\r"), R"("a\nb\t\"c\"\\\r")");
  EXPECT_EQ(quote(std::string_view("\x1b[31m\0\x7f", 7)), R"("\x1b[31m\x00\x7f")");
  EXPECT_EQ(quote("\xc2\x9b"
                  "31m"),
            R"("\u009b31m")");
  EXPECT_EQ(quote("\xff\xc3"), R"("\xff\xc3")");
}

TEST(Quote, CutsAtACharacter) {
  EXPECT_EQ(quote("äöüß", 3), "\"äöü…\"");
  EXPECT_EQ(quote("äöü", 3), "\"äöü\"");
  EXPECT_EQ(quote(std::string(1 << 20, 'a')), "\"" + std::string(60, 'a') + "…\"");
}

TEST(PlainOrQuoted, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(plain_or_quoted("down_blocks.0 é \"x\""), "down_blocks.0 é \"x\"");
  EXPECT_EQ(plain_or_quoted("a\nb"), R"("a\nb")");
  EXPECT_EQ(plain_or_quoted("\xc2\x9b"), R"("\u009b")");
  EXPECT_EQ(plain_or_quoted("\xc3\x9b"), "Û");
  EXPECT_EQ(plain_or_quoted("\xff"), R"("\xff")");
  EXPECT_EQ(plain_or_quoted("abcd", 3), "\"abc…\"");
}

TEST(FormatBytes, HasTwoDigitsAtLeast) {
  const std::pair<std::uint64_t, std::string_view> cases[] = {
      {0, "0 bytes"},      {1, "1 byte"},         {999, "999 bytes"},
      {1000, "1 KB"},      {1500, "1.5 KB"},      {12'345, "12 KB"},
      {999'499, "999 KB"}, {999'500, "1 MB"},     {1'500'000'000, "1.5 GB"},
      {9'960, "10 KB"},    {UINT64_MAX, "18 EB"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(format_bytes(bytes), text);
}

TEST(ParseBytes, WantsAUnit) {
  const std::pair<std::string_view, std::uint64_t> cases[] = {
      {"0", 0},
      {"0 b", 0},
      {"12B", 12},
      {"500MB", 500'000'000},
      {"1.5 GiB", 3u << 29},
      {"20gib", 20ull << 30},
      {"2TB", 2'000'000'000'000},
      {"1kib", 1024},
      {"0.5kb", 500},
  };
  for (const auto& [text, bytes] : cases) EXPECT_EQ(parse_bytes("--limit", text), bytes) << text;
  for (const std::string_view text :
       {"", "20", "20G", "-1GB", "GB", "1e3GB", "nanGB", "infGB", " 1GB", "1GB ", "1GBs", "1,5GB",
        "99999999999TB", "99999999999999999999999999999999999999999TB"})
    EXPECT_EQ(test::message_of(ErrorKind::usage, [&] { (void)parse_bytes("--limit", text); }),
              "--limit: expected a size with its unit, such as 500MB or 20GiB, found \"" + std::string(text) +
                  "\"");
}

}  // namespace
}  // namespace perfuse
