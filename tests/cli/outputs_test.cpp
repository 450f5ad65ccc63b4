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
    for (const auto& output : files)
      result.push_back(output.kind == OutputFile::Kind::chosen ? output.choice(1).string()
                                                               : output.file.string());
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
}

TEST(Outputs, FoldersTakeNamesAfterThePrompt) {
  const ScratchFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(names({{path, {"a"}}, {path + "/", {"b"}}, {"", {"c", "c"}}}),
            (Names{path + "/a.png", path + "/b.png", "c.png", "c.png"}));
  EXPECT_EQ(names({{path, {"a"}, ImageFormat::jpeg}}), (Names{path + "/a.jpg"}));
  EXPECT_EQ(OutputFile({OutputFile::Kind::chosen, "d/a"}).choice(12), "d/a-12.png");
}

TEST(Outputs, StandardOutputTakesOnePicture) {
  for (const std::string name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/../dev/stdout"}) {
    const auto outputs = plan_outputs({{name, {"a"}}});
    EXPECT_EQ(outputs[0][0].kind, OutputFile::Kind::standard_output) << name;
    EXPECT_TRUE(uses_standard_output(outputs));
    EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                    [&] {
                                      (void)plan_outputs({{name, {"a", "b"}}});
                                    }),
                         "takes one picture, there are 2"));
  }
  EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                  [] {
                                    (void)plan_outputs({{"-", {"a"}}, {"/dev/stdout", {"b"}}});
                                  }),
                       "takes one picture"));
  EXPECT_FALSE(uses_standard_output(plan_outputs({{"a.png", {"a"}}, {"", {"b"}}})));
}

TEST(Outputs, SuffixAndFormatAgree) {
  const auto format = [](const std::string& name, std::optional<ImageFormat> wanted) {
    return plan_outputs({{name, {"x"}, wanted}})[0][0].format;
  };
  const auto refusal = [&](const std::string& name, std::optional<ImageFormat> wanted) {
    return message_of(ErrorKind::usage, [&] { (void)format(name, wanted); });
  };
  EXPECT_EQ(format("a.JPEG", std::nullopt), ImageFormat::jpeg);
  EXPECT_EQ(format("a.jpg", ImageFormat::jpeg), ImageFormat::jpeg);
  EXPECT_EQ(format("a", ImageFormat::jpeg), ImageFormat::jpeg);
  EXPECT_EQ(format("-", ImageFormat::jpeg), ImageFormat::jpeg);
  EXPECT_EQ(format("/dev/null", std::nullopt), ImageFormat::png);
  EXPECT_EQ(format("/dev/fd/9", ImageFormat::jpeg), ImageFormat::jpeg);
  EXPECT_TRUE(contains(refusal("a.png", ImageFormat::jpeg), "\".png\" is not one of --format jpeg"));
  EXPECT_TRUE(contains(refusal("a.gif", ImageFormat::png), "\".gif\""));
  EXPECT_TRUE(contains(refusal("a.gif", std::nullopt), "a.gif"));
  EXPECT_TRUE(contains(refusal("a", std::nullopt), "no suffix"));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [] { (void)parse_image_format("--format", "gif"); }),
                       "--format: expected png or jpeg, found \"gif\""));
}

TEST(Outputs, AChosenNameReplacesNothing) {
  const ScratchFolder folder;
  const Image image(1, 1, {1, 2, 3});
  folder.write("a.png", "mine");
  fs::create_symlink("nowhere", folder / "a-2.png");
  fs::create_directory(folder / "a-3.png");
  const std::string path = folder.path().string();
  const auto outputs = plan_outputs({{path, {"a"}}, {path + "/a-5.png", {"b"}}});
  const auto save = [&] { return save_picture(image, {}, outputs[0][0], outputs).filename().string(); };
  EXPECT_EQ(save(), "a-4.png");
  EXPECT_EQ(save(), "a-6.png");  // another picture's own name is left to it
  EXPECT_EQ(save(), "a-7.png");
  EXPECT_EQ(perfuse::test::slurp(folder / "a.png"), "mine");
  EXPECT_EQ(folder.entries(), 6u);
}

class OutputChecks : public ::testing::Test {
 protected:
  static void check(const std::vector<fs::path>& files, const std::vector<ReservedFile>& reserved = {}) {
    std::vector<OutputWish> wishes;
    for (const auto& file : files) wishes.push_back({file.string(), {"x"}});
    check_outputs(plan_outputs(wishes), reserved);
  }
  std::string refusal(ErrorKind kind, const std::vector<fs::path>& files,
                      const std::vector<ReservedFile>& reserved = {}) {
    return message_of(kind, [&] { check(files, reserved); });
  }
  ScratchFolder folder_;
};

TEST_F(OutputChecks, SuffixFolderAndPermission) {
  EXPECT_NO_THROW(check({folder_ / "a.png", folder_ / "a.jpg", folder_ / "a.JPEG"}));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {folder_ / "a.gif"}), "a.gif"));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {folder_ / "a"}), "a"));
  EXPECT_TRUE(contains(refusal(ErrorKind::io, {folder_ / "absent/a.png"}), "absent"));
  EXPECT_TRUE(contains(refusal(ErrorKind::io, {folder_ / "absent/"}), "no such folder"));
  fs::create_directory(folder_ / "d.png");
  EXPECT_NO_THROW(check({folder_ / "d.png"}));
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
