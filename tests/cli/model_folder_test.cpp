#include "apps/cli/model_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

TEST(ModelFolder, ModelsThatComeWithPerfuseAreFoundByName) {
  // The test program lies in a build of the source tree, as the command does.
  const auto model = find_model("emoji-pixart");
  EXPECT_TRUE(std::filesystem::exists(model.folder / "model_index.json"));
  EXPECT_EQ(model.recorded, "emoji-pixart");
  const auto places = model_places("/opt/x/bin");
  EXPECT_EQ(places.front(), "/opt/x/share/perfuse/models");
  EXPECT_EQ(model_places("/src/build/release/bin").back(), "/src/models");
}

TEST(ModelFolder, FoldersAreRecordedByAbsolutePath) {
  const ScratchFolder folder;
  const auto model = find_model((folder.path() / "." / "").string());
  EXPECT_EQ(model.recorded, std::filesystem::canonical(folder.path()).string());
}

TEST(ModelFolder, TheEnvironmentNamesTheDefault) {
  const ScratchFolder folder;
  ASSERT_EQ(setenv("PERFUSE_MODEL", folder.path().c_str(), 1), 0);
  EXPECT_EQ(find_model("").folder, folder.path());
  ASSERT_EQ(setenv("PERFUSE_MODEL", "/nowhere/at/all", 1), 0);
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [] { (void)find_model(""); }), "PERFUSE_MODEL \"/nowhere/at/all\""));
  EXPECT_EQ(find_model("emoji-pixart").recorded, "emoji-pixart");
  ASSERT_EQ(unsetenv("PERFUSE_MODEL"), 0);
}

TEST(ModelFolder, WhatIsNoFolder) {
  const ScratchFolder folder;
  const auto refusal = [](const std::string& name) {
    return message_of(ErrorKind::io, [&] { (void)find_model(name); });
  };
  EXPECT_TRUE(contains(refusal((folder / "absent").string()), "no such folder"));
  EXPECT_TRUE(contains(refusal(folder.write("file", "").string()), "not a folder"));
  EXPECT_TRUE(contains(refusal("no-such-model"), "share/perfuse/models"));
  EXPECT_TRUE(contains(refusal("../org/model"), "no such folder"));
  EXPECT_TRUE(contains(refusal("org/model/more"), "no such folder"));
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [] { (void)find_model("org/model"); }),
                       "org/model: no such folder, and no such model in the hub cache"));
  std::filesystem::create_symlink("nowhere", folder / "broken");
  EXPECT_TRUE(contains(refusal((folder / "broken").string()), "a link to nowhere, which does not exist"));
  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_TRUE(contains(refusal((folder / "loop").string()), "loop"));
}

}  // namespace
}  // namespace perfuse::cli
