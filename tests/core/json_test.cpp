#include "perfuse/core/json.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>

#include "perfuse/core/log.h"
#include "tests/support/scratch.h"

namespace perfuse {
namespace {

using test::contains;
using test::message_of;
using test::ScratchFolder;

std::string parse_error(std::string_view text) {
  return message_of(ErrorKind::model, [&] { (void)parse_json(text, "f"); });
}

TEST(ParseJson, KeepsOrderAndTypes) {
  const Json json = parse_json(R"( {"z": 1, "a": [true, null, -2, 1.5, "x\u00e9\n"], "m": {"": {}}} )", "f");
  EXPECT_EQ(json.dump(), R"({"z":1,"a":[true,null,-2,1.5,"xé\n"],"m":{"":{}}})");
  EXPECT_TRUE(json["z"].is_number_unsigned());
  EXPECT_EQ(parse_json("18446744073709551615", "f").get<std::uint64_t>(), UINT64_MAX);
  EXPECT_TRUE(parse_json("18446744073709551616", "f").is_number_float());
  EXPECT_EQ(parse_json("\"top\"", "f").get<std::string>(), "top");
}

TEST(ParseJson, ReadsBareInfinitiesAndNaN) {
  const Json json = parse_json(
      R"({"lambda_min_clipped": -Infinity, "s": "-Infinity, NaN", "l": [Infinity,NaN , 1, "\"NaN", -Infinity]})",
      "f");
  EXPECT_EQ(json["lambda_min_clipped"].get<double>(), -INFINITY);
  EXPECT_EQ(json["s"].get<std::string>(), "-Infinity, NaN");
  EXPECT_EQ(json["l"][0].get<double>(), INFINITY);
  EXPECT_TRUE(std::isnan(json["l"][1].get<double>()));
  EXPECT_EQ(json["l"][2].get<int>(), 1);
  EXPECT_EQ(json["l"][3].get<std::string>(), "\"NaN");
  EXPECT_EQ(json["l"][4].get<double>(), -INFINITY);
  EXPECT_EQ(parse_json("-Infinity", "f").get<double>(), -INFINITY);
}

TEST(ParseJson, ReadsWhatDiffusersWrites) {
  const ConfigReader config(std::filesystem::path(PERFUSE_TEST_DATA) /
                            "models/tiny-pixart-sigma/scheduler/scheduler_config.json");
  EXPECT_EQ(config.number("lambda_min_clipped", std::nullopt, true), -INFINITY);
  EXPECT_EQ(config.string("_class_name"), "DPMSolverMultistepScheduler");
}

TEST(ParseJson, NamesLineAndColumn) {
  EXPECT_EQ(parse_error("{\n  \"a\": nul\n}"),
            "f: line 2, column 11: not JSON: invalid literal at \"nul\\n\"");
  EXPECT_EQ(parse_error("[1 2]"),
            "f: line 1, column 4: not JSON: unexpected number literal; expected ']' at \"2\"");
  EXPECT_EQ(parse_error(""), "f: line 1, column 1: not JSON: it ends too early");
  EXPECT_EQ(parse_error("{\"a\":\n"), "f: line 2, column 1: not JSON: it ends too early");
  EXPECT_EQ(parse_error("[\"é\", é]"), "f: line 1, column 7: not JSON: invalid literal at \"é\"");
  EXPECT_TRUE(contains(parse_error("\"abc"), "line 1, column 5: not JSON"));
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const std::string_view text :
       {"{",       "}",           "[1,]",     "{\"a\":1,}",   "{a:1}",      "'a'",       "[1] x",
        "01",      "+1",          "1.",       ".5",           "-",          "[",         "tru",
        "\"\\x\"", "\"\\ud800\"", "\"a\nb\"", "// c\n1",      "[1}",        "{\"a\" 1}", "{\"a\":1 \"b\":2}",
        "Infinit", "-Infinit",    "NaNs",     "1NaN",         "--Infinity", "+Infinity", "[NaN NaN]",
        "nan",     "Inf",         "<html>",   "\xef\xbb\xbf", "1e999"})
    EXPECT_TRUE(contains(parse_error(text), "f: line 1, column ")) << text;
  EXPECT_TRUE(contains(parse_error("{NaN: 1}"), "column 2: expected a key in double quotes"));
  EXPECT_TRUE(contains(parse_error("{1: 1}"), "column 2: not JSON"));
}

TEST(ParseJson, RefusesNulAndInvalidUtf8) {
  EXPECT_EQ(parse_error(std::string_view("{}\0{}", 5)), "f: line 1, column 3: a NUL byte, not JSON");
  EXPECT_EQ(parse_error("{\"a\":\n\"x\xff\"}"), "f: line 2, column 3: not valid UTF-8");
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_EQ(parse_error("{\"a\": 1,\n \"b\": {\"a\": 2}, \"a\": 3}"),
            "f: line 2, column 17: the key \"a\" is there twice");
  EXPECT_EQ(parse_error(R"({"a": 1, "\u0061": 2})"), "f: line 1, column 10: the key \"a\" is there twice");
  EXPECT_NO_THROW((void)parse_json(R"([{"a": 1}, {"a": "a"}, {"b": {"b": 1}}])", "f"));
}

TEST(ParseJson, LimitsDepth) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_NO_THROW((void)parse_json(nested(200), "f"));
  EXPECT_EQ(parse_error(nested(201)), "f: line 1, column 201: more than 200 levels");
  EXPECT_EQ(parse_error(std::string(10'000'000, '{')), "f: line 1, column 201: more than 200 levels");
  EXPECT_NO_THROW((void)parse_json('"' + std::string(300, '[') + '"', "f"));
  EXPECT_TRUE(contains(parse_error(std::string(300, ']')), "not JSON"));
}

TEST(ParseJson, LimitsValues) {
  std::string many = "[0";
  for (int i = 0; i < 8'000'001; ++i) many += ",0";
  EXPECT_TRUE(contains(parse_error(many + "]"), "more than 8000000 values"));
  std::string strings;
  for (int i = 0; i < 16'000'002; ++i) strings += "\"\"";
  EXPECT_TRUE(contains(parse_error(strings), "too many strings"));
}

TEST(ParseJson, ManyKeysTakeLinearTime) {
  std::string text = "{\"k\":0";
  for (int i = 0; i < 200'000; ++i) text += fmt::format(",\"k{}\":0", i);
  EXPECT_EQ(parse_json(text + "}", "f").size(), 200'001u);  // minutes, if each key were compared with all
}

TEST(ParseJson, MessagesStayShort) {
  EXPECT_LT(parse_error("[\"" + std::string(1'000'000, 'x')).size(), 200u);
  EXPECT_LT(parse_error(std::string(1'000'000, '9')).size(), 200u);
  EXPECT_LT(
      parse_error("{\"" + std::string(1'000'000, 'k') + "\":1,\"" + std::string(1'000'000, 'k') + "\":1}")
          .size(),
      200u);
}

TEST(ReadJson, NamesTheFile) {
  const ScratchFolder folder;
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)read_json(folder.write("c.json", "{")); }),
            (folder / "c.json").string() + ": line 1, column 2: not JSON: it ends too early");
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { (void)read_json(folder / "absent.json"); }), "absent.json: "));
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { (void)read_json(folder.write("big", "[1, 2, 3]"), 5); }),
               "has 9 bytes, expected at most 5 bytes"));
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)read_json(folder / "fifo"); }), "is a FIFO"));
}

TEST(Brief, IsShortAndWhole) {
  const auto brief_of = [](std::string_view text) { return brief(parse_json(text, "f")); };
  EXPECT_EQ(brief_of(R"({"a": [1, -Infinity, NaN, Infinity, null, true, 1.5], "b": {}})"),
            R"({"a": [1, -Infinity, NaN, Infinity, null, true, 1.5], "b": …)");
  EXPECT_EQ(brief_of("[]"), "[]");
  EXPECT_EQ(brief_of(R"("a\nb")"), R"("a\nb")");
  EXPECT_EQ(brief(Json(std::string(100, 'x'))), "\"" + std::string(58, 'x') + "…");
  std::string umlauts = "[\"";
  for (int i = 0; i < 100; ++i) umlauts += "ä";
  const std::string cut = brief_of(umlauts + "\"]");
  EXPECT_EQ(cut.size(), 2 + 2 * 57 + std::string_view("…").size());
  EXPECT_EQ(brief(Json(std::vector<int>(1'000'000, 7))).size(), 59 + std::string_view("…").size());
}

class Config : public ::testing::Test {
 protected:
  static ConfigReader reader(std::string_view text) { return {parse_json(text, "c.json"), "c.json"}; }
  template <class Read> static std::string refusal(std::string_view text, const Read& read) {
    return message_of(ErrorKind::model, [&] { (void)read(reader(text)); });
  }
};

TEST_F(Config, MustBeAnObject) {
  EXPECT_EQ(message_of(ErrorKind::model, [] { (void)reader("[1]"); }),
            "c.json: expected a JSON object, found [1]");
}

TEST_F(Config, Integers) {
  const auto read = [](const ConfigReader& r) { return r.integer("n", 1, 100); };
  EXPECT_EQ(read(reader(R"({"n": 28})")), 28);
  EXPECT_EQ(refusal(R"({"n": "28"})", read), "c.json: n: expected an integer from 1 to 100, found \"28\"");
  EXPECT_EQ(refusal(R"({"n": 0})", read), "c.json: n: expected an integer from 1 to 100, found 0");
  EXPECT_EQ(refusal(R"({"n": 101})", read), "c.json: n: expected an integer from 1 to 100, found 101");
  EXPECT_EQ(refusal(R"({"n": 2.0})", read), "c.json: n: expected an integer from 1 to 100, found 2.0");
  EXPECT_EQ(refusal(R"({"n": true})", read), "c.json: n: expected an integer from 1 to 100, found true");
  EXPECT_EQ(refusal(R"({"n": null})", read), "c.json: n: missing; expected an integer from 1 to 100");
  EXPECT_EQ(refusal("{}", read), "c.json: n: missing; expected an integer from 1 to 100");
  EXPECT_EQ(reader("{}").integer("n", 1, 100, 7), 7);
  EXPECT_EQ(reader(R"({"n": null})").integer("n", 1, 100, 7), 7);
  EXPECT_EQ(reader(R"({"n": -3})").integer("n", -5, 5), -3);
  // 2^64 − 1 must not turn into −1.
  EXPECT_EQ(refusal(R"({"n": 18446744073709551615})",
                    [](const ConfigReader& r) { return r.integer("n", INT64_MIN, INT64_MAX); }),
            "c.json: n: expected an integer, found 18446744073709551615");
  EXPECT_EQ(refusal(R"({"n": 0})", [](const ConfigReader& r) { return r.integer("n", 1, INT64_MAX); }),
            "c.json: n: expected an integer of at least 1, found 0");
}

TEST_F(Config, Numbers) {
  const auto read = [](const ConfigReader& r) { return r.number("x"); };
  EXPECT_EQ(read(reader(R"({"x": 0.18215})")), 0.18215);
  EXPECT_EQ(read(reader(R"({"x": 3})")), 3.0);
  EXPECT_EQ(refusal(R"({"x": -Infinity})", read), "c.json: x: expected a finite number, found -Infinity");
  EXPECT_EQ(refusal(R"({"x": NaN})", read), "c.json: x: expected a finite number, found NaN");
  EXPECT_EQ(refusal(R"({"x": "1"})", read), "c.json: x: expected a finite number, found \"1\"");
  EXPECT_EQ(reader(R"({"x": -Infinity})").number("x", std::nullopt, true), -INFINITY);
  EXPECT_EQ(refusal(R"({"x": NaN})", [](const ConfigReader& r) { return r.number("x", std::nullopt, true); }),
            "c.json: x: expected a number, found NaN");
  EXPECT_EQ(reader("{}").number("x", -1.5), -1.5);
}

TEST_F(Config, BooleansAndStrings) {
  EXPECT_TRUE(reader(R"({"b": true})").boolean("b"));
  EXPECT_FALSE(reader("{}").boolean("b", false));
  EXPECT_EQ(refusal(R"({"b": 1})", [](const ConfigReader& r) { return r.boolean("b"); }),
            "c.json: b: expected true or false, found 1");
  EXPECT_EQ(reader(R"({"s": "é"})").string("s"), "é");
  EXPECT_EQ(reader("{}").string("s", "d"), "d");
  EXPECT_EQ(refusal(R"({"s": ["a"]})", [](const ConfigReader& r) { return r.string("s"); }),
            "c.json: s: expected a string, found [\"a\"]");
}

TEST_F(Config, Choices) {
  const auto read = [](const ConfigReader& r) { return r.choice("act", {"silu", "gelu"}); };
  EXPECT_EQ(read(reader(R"({"act": "gelu"})")), "gelu");
  EXPECT_EQ(refusal(R"({"act": "swish"})", read),
            "c.json: act: expected one of \"silu\", \"gelu\", found \"swish\"");
  EXPECT_EQ(refusal("{}", read), "c.json: act: missing; expected one of \"silu\", \"gelu\"");
  EXPECT_EQ(reader("{}").choice("act", {"silu"}, "other"), "other");
}

TEST_F(Config, Lists) {
  EXPECT_EQ(reader(R"({"l": [1, 2]})").integers("l", 0, 9), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(refusal(R"({"l": [1, "2"]})", [](const ConfigReader& r) { return r.integers("l", 0, 9); }),
            "c.json: l[1]: expected an integer from 0 to 9, found \"2\"");
  EXPECT_EQ(refusal(R"({"l": 1})", [](const ConfigReader& r) { return r.integers("l", 0, 9); }),
            "c.json: l: expected a list, each an integer from 0 to 9, found 1");
  EXPECT_EQ(reader(R"({"l": [1, 0.5]})").numbers("l"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(refusal(R"({"l": [NaN]})", [](const ConfigReader& r) { return r.numbers("l"); }),
            "c.json: l[0]: expected a finite number, found NaN");
  EXPECT_EQ(reader(R"({"l": ["a"]})").strings("l"), std::vector<std::string>{"a"});
  EXPECT_EQ(reader("{}").strings("l", std::vector<std::string>{}), std::vector<std::string>{});
  EXPECT_EQ(refusal(R"({"l": [null]})", [](const ConfigReader& r) { return r.strings("l"); }),
            "c.json: l[0]: expected a string, found null");
}

TEST_F(Config, NestedObjectsAreNamedWhole) {
  const auto config = reader(R"({"rope": {"inner": {"theta": "x"}}, "list": []})");
  EXPECT_EQ(
      message_of(ErrorKind::model, [&] { (void)config.object("rope").object("inner").number("theta"); }),
      "c.json: rope.inner.theta: expected a finite number, found \"x\"");
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)config.object("list"); }),
            "c.json: list: expected an object, found []");
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)config.object("absent"); }),
            "c.json: absent: missing; expected an object");
  EXPECT_EQ(message_of(ErrorKind::model, [&] { config.object("rope").fail_field("k", "no"); }),
            "c.json: rope.k: no");
}

TEST_F(Config, HostileKeysStayOnOneLine) {
  const auto config = reader(R"({"a\n": {"b\u0000": 1}, "c\n": 1})");
  EXPECT_EQ(
      message_of(ErrorKind::model, [&] { (void)config.object("a\n").string(std::string_view("b\0", 2)); }),
      R"(c.json: "a\n"."b\x00": expected a string, found 1)");
}

TEST_F(Config, TellsWhatNobodyAskedFor) {
  const auto config = reader(R"({"_class_name": "X", "a": 1, "b": null, "c": 2})");
  EXPECT_TRUE(config.has("a"));
  EXPECT_FALSE(config.has("b"));
  EXPECT_FALSE(config.has("zzz"));
  std::string logged;
  log::set_sink([&](log::Level, std::string_view message) { logged += message; });
  config.report_unread({"d"});
  config.report_unread({"c"});
  log::set_sink({});
  EXPECT_EQ(logged, "c.json: not known here, without effect: c");
}

}  // namespace
}  // namespace perfuse
