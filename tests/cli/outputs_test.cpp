#include "apps/cli/outputs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

namespace fs = std::filesystem;
using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

std::vector<std::string> names(const std::vector<OutputWish>& wishes) {
  std::vector<std::string> result;
  for (const auto& files : plan_outputs(wishes))
    for (const auto& file : files) result.push_back(file.string());
  return result;
}

using Names = std::vector<std::string>;

TEST(Outputs, PatternsNumberFromZero) {
  EXPECT_EQ(names({{"a-{}.png", {"x", "x"}}}), (Names{"a-0.png", "a-1.png"}));
  EXPECT_EQ(names({{"a-{:03}.png", {"x", "x"}}}), (Names{"a-000.png", "a-001.png"}));
  EXPECT_EQ(names({{"{:2}/a.png", {"x"}}}), (Names{"00/a.png"}));
  EXPECT_EQ(names({{"a.png", {"x"}}}), (Names{"a.png"}));
  EXPECT_EQ(names({{"d.x/a.png", {"x", "x"}}}), (Names{"d.x/a-0.png", "d.x/a-1.png"}));
  // Braces that are no place for a number stay.
  EXPECT_EQ(names({{"{a}{:x}{.png", {"x"}}}), (Names{"{a}{:x}{.png"}));
  EXPECT_EQ(names({{"{a}{}.png", {"x"}}}), (Names{"{a}0.png"}));
  EXPECT_EQ(names({{"{:999999999999999999999}.png", {"x"}}}), (Names{"{:999999999999999999999}.png"}));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                  [] {
                                    (void)names({{"{}-{}.png", {"x"}}});
                                  }),
                       "more than one place"));
}

TEST(Outputs, RequestsWithOnePatternNumberOn) {
  EXPECT_EQ(names({{"a.png", {"x"}}, {"b.png", {"y"}}, {"a.png", {"z", "z"}}}),
            (Names{"a-0.png", "b.png", "a-1.png", "a-2.png"}));
}

TEST(Outputs, NamedAfterThePrompt) {
  EXPECT_EQ(file_stem("A red apple, on BLUE!"), "a-red-apple-on-blue");
  EXPECT_EQ(file_stem("../../etc/passwd"), "etc-passwd");
  EXPECT_EQ(file_stem("りんご"), "picture");
  EXPECT_EQ(file_stem(""), "picture");
  EXPECT_LE(file_stem(std::string(1000, 'x')).size(), 60u);

  const ScratchFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  folder.write("a.png", "");
  fs::create_symlink("nowhere", "a-2.png");
  EXPECT_EQ(names({{"", {"a", "b", "a"}}, {"", {"a 4"}}}),
            (Names{"a-3.png", "b.png", "a-4.png", "a-4-2.png"}));
  fs::current_path(before);
}

class OutputChecks : public ::testing::Test {
 protected:
  std::string refusal(ErrorKind kind, const std::vector<fs::path>& files,
                      const std::vector<ReservedFile>& reserved = {}) {
    return message_of(kind, [&] { check_outputs({files}, reserved); });
  }
  ScratchFolder folder_;
};

TEST_F(OutputChecks, SuffixFolderAndPermission) {
  EXPECT_NO_THROW(check_outputs({{folder_ / "a.png", folder_ / "a.jpg", folder_ / "a.JPEG"}}, {}));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {folder_ / "a.gif"}), "a.gif"));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {folder_ / "a"}), "a"));
  EXPECT_TRUE(contains(refusal(ErrorKind::io, {folder_ / "absent/a.png"}), "absent"));
  fs::create_directory(folder_ / "d.png");
  EXPECT_TRUE(contains(refusal(ErrorKind::io, {folder_ / "d.png"}), "folder"));
  EXPECT_EQ(folder_.entries(), 1u);  // the checks left nothing
}

TEST_F(OutputChecks, OneFileForTwoThings) {
  const auto a = folder_ / "a.png";
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {a, folder_.path() / "." / "a.png"}),
                       "another picture uses that file"));
  fs::create_symlink("a.png", folder_ / "b.png");
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {a, folder_ / "b.png"}), "another picture"));
  EXPECT_TRUE(
      contains(refusal(ErrorKind::usage, {a}, {{"--dump-tensors", a}}), "--dump-tensors uses that file"));
  fs::create_symlink("loop.png", folder_ / "loop.png");
  EXPECT_TRUE(contains(refusal(ErrorKind::io, {folder_ / "loop.png"}), "loop"));
}

}  // namespace
}  // namespace perfuse::cli
