#include "apps/cli/request_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

std::string refusal(const std::string& text) {
  return message_of(ErrorKind::usage, [&] { (void)parse_requests(text, "r.json"); });
}

TEST(RequestFile, OneObjectOnAnyNumberOfLines) {
  for (const char* text :
       {R"({"prompt": "a"})", "\n{\"prompt\":\n\n\"a\"\n}\n", "\xef\xbb\xbf{\"prompt\": \"a\"}\r\n"}) {
    const auto requests = parse_requests(text, "r.json");
    ASSERT_EQ(requests.size(), 1u) << text;
    EXPECT_EQ(requests[0].origin, "r.json");
    EXPECT_EQ(requests[0].request.prompt->values().front(), "a");
  }
}

TEST(RequestFile, JsonLinesAreABatch) {
  const auto requests =
      parse_requests("{\"prompt\": \"a\"}\n\n{\"prompt\": \"b\", \"seed\": 4}\n", "r.jsonl");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].origin, "r.jsonl:1");
  EXPECT_EQ(requests[1].origin, "r.jsonl:3");
  EXPECT_EQ(requests[1].request.seed->values().front(), 4u);
}

TEST(RequestFile, MistakesNameTheLine) {
  EXPECT_TRUE(contains(refusal("{\"prompt\": \"a\"}\n{\"prompt\": \"b\",}\n"), "r.json:2: line 1, column"));
  EXPECT_TRUE(
      contains(refusal("{\"prompt\": \"a\"}\n\n{\"promt\": \"b\"}\n"), "r.json:3: unknown field \"promt\""));
  EXPECT_TRUE(contains(refusal("{\"prompt\": \"a\"}\n[]\n"), "r.json:2: expected an object"));
  EXPECT_TRUE(contains(refusal("{\"prompt\":\n\"a\",\n}"), "r.json: line 3"));
}

TEST(RequestFile, WhatIsNoRequest) {
  EXPECT_TRUE(contains(refusal(""), "empty"));
  EXPECT_TRUE(contains(refusal(" \n\t\r\n"), "empty"));
  EXPECT_TRUE(contains(refusal("a red apple"), "r.json: line 1"));
  EXPECT_TRUE(contains(refusal("[{\"prompt\": \"a\"}]"), "expected an object"));
  EXPECT_TRUE(contains(refusal("{\"prompt\": \"\xff\"}"), "UTF-8"));
  EXPECT_TRUE(contains(refusal("{\"prompt\": \"a\", \"prompt\": \"b\"}"), "prompt"));
  EXPECT_TRUE(contains(refusal(std::string(100000, '[')), "levels"));
}

TEST(RequestFile, FilesThatCannotBeRead) {
  const ScratchFolder folder;
  const auto unreadable = [](const std::filesystem::path& file) {
    return message_of(ErrorKind::io, [&] { (void)read_requests(file); });
  };
  EXPECT_TRUE(contains(unreadable(folder / "absent.json"), "absent.json"));
  EXPECT_TRUE(contains(unreadable(folder.path()), "folder"));
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(contains(unreadable(folder / "fifo"), "FIFO"));
  EXPECT_EQ(read_requests(folder.write("r.json", R"({"prompt": "a"})")).size(), 1u);
}

}  // namespace
}  // namespace perfuse::cli
