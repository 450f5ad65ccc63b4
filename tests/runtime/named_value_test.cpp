#include "perfuse/runtime/named_value.h"

#include <gtest/gtest.h>

#include "tests/support/scratch.h"

namespace perfuse {
namespace {

NamedValue parse(std::string_view text) { return parse_named_value("--pjrt-option", text); }
using List = std::vector<std::int64_t>;

TEST(NamedValue, TypesByTheirForm) {
  EXPECT_EQ(parse("a=true"), (NamedValue{"a", true}));
  EXPECT_EQ(parse("a=false"), (NamedValue{"a", false}));
  EXPECT_EQ(parse("cpu_device_count=2"), (NamedValue{"cpu_device_count", std::int64_t{2}}));
  EXPECT_EQ(parse("a=-9223372036854775808"), (NamedValue{"a", INT64_MIN}));
  EXPECT_EQ(parse("memory_fraction=0.75"), (NamedValue{"memory_fraction", 0.75F}));
  EXPECT_EQ(parse("a=1e3"), (NamedValue{"a", 1000.0F}));
  EXPECT_EQ(parse("visible_devices=[0,3]"), (NamedValue{"visible_devices", List{0, 3}}));
  EXPECT_EQ(parse("a=[]"), (NamedValue{"a", List{}}));
  EXPECT_EQ(parse("allocator=bfc"), (NamedValue{"allocator", std::string("bfc")}));
  EXPECT_EQ(parse("a="), (NamedValue{"a", std::string()}));
  EXPECT_EQ(parse("a=b=c"), (NamedValue{"a", std::string("b=c")}));
  EXPECT_EQ(parse("a=\"12\""), (NamedValue{"a", std::string("12")}));
}

TEST(NamedValue, WhatIsNoNumberIsText) {
  for (const char* text :
       {"1 ", "0x10", "nan", "inf", "9223372036854775808x", "[1,]", "[1", "[a]", "[,]", "True"})
    EXPECT_EQ(parse(std::string("a=") + text), (NamedValue{"a", std::string(text)})) << text;
}

TEST(NamedValue, PrintedAndReadAgain) {
  for (const NamedValue& value :
       {NamedValue{"a", true}, NamedValue{"a", std::int64_t{-7}}, NamedValue{"a", 0.1F},
        NamedValue{"a", 2.0F}, NamedValue{"a", 1e20F}, NamedValue{"a", List{1, 2}}, NamedValue{"a", List{}},
        NamedValue{"a", std::string("bfc")}, NamedValue{"a", std::string("12")},
        NamedValue{"a", std::string("true")}, NamedValue{"a", std::string("\"x\"")},
        NamedValue{"a", std::string("\"")}, NamedValue{"a", std::string()}})
    EXPECT_EQ(parse(to_string(value)), value) << to_string(value);
}

TEST(NamedValue, NeedsAName) {
  for (const char* text : {"", "a", "=1"}) {
    const auto message = test::message_of(ErrorKind::usage, [&] { (void)parse(text); });
    EXPECT_TRUE(test::contains(message, "--pjrt-option: expected NAME=VALUE, found \"")) << message;
  }
}

}  // namespace
}  // namespace perfuse
