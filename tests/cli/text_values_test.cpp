#include "apps/cli/text_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;

TEST(TextValues, IntegersAreDecimalAndWhole) {
  EXPECT_EQ(parse_integer("--height", "512"), 512);
  EXPECT_EQ(parse_integer("--height", "-8"), -8);
  EXPECT_EQ(parse_integer("--height", "010"), 10);  // not octal
  EXPECT_EQ(parse_int("--steps", "-2147483648"), std::numeric_limits<int>::min());
  for (const char* wrong : {"", "ten", "5 ", " 5", "0x10", "5.0", "1e3", "+5", "--5", "5,6"}) {
    const auto message = message_of(ErrorKind::usage, [&] { (void)parse_int("--steps", wrong); });
    EXPECT_TRUE(contains(message, "--steps: expected an integer, found \"")) << wrong;
  }
}

TEST(TextValues, OverflowIsSaidNotWrapped) {
  const auto out_of_range = [](auto call) {
    return contains(message_of(ErrorKind::usage, call), "out of range");
  };
  EXPECT_TRUE(out_of_range([] { (void)parse_int("--steps", "2147483648"); }));
  EXPECT_TRUE(out_of_range([] { (void)parse_integer("--height", "9223372036854775808"); }));
  EXPECT_TRUE(out_of_range([] { (void)parse_seeds("--seed", "18446744073709551616"); }));
  EXPECT_TRUE(out_of_range([] { (void)parse_number("--guidance-scale", "1e999"); }));
}

TEST(TextValues, Seeds) {
  EXPECT_EQ(parse_seeds("--seed", "18446744073709551615"), std::vector<std::uint64_t>{18446744073709551615u});
  EXPECT_EQ(parse_seeds("--seed", "1,2,3"), (std::vector<std::uint64_t>{1, 2, 3}));
  for (const char* wrong : {"-1", "1,,2", "1,", ",1", ""})
    EXPECT_TRUE(contains(message_of(ErrorKind::usage, [&] { (void)parse_seeds("--seed", wrong); }), "--seed"))
        << wrong;
}

TEST(TextValues, Numbers) {
  EXPECT_EQ(parse_number("--guidance-scale", "4.5"), 4.5);
  EXPECT_TRUE(std::isnan(parse_number("--guidance-scale", "nan")));
  EXPECT_EQ(parse_numbers("--sigmas", "1,0.5,0"), (std::vector<double>{1.0, 0.5, 0.0}));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [] { (void)parse_number("--guidance-scale", "4,5"); }),
                       "--guidance-scale: expected a number, found \"4,5\""));
}

}  // namespace
}  // namespace perfuse::cli
