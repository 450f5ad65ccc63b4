// The library's side of the hub's cache; the command's tests (tests/cli/hub_test.py) have what can be wrong with one.
#include "perfuse/pipelines/hub_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "perfuse/pipelines/diffusion_pipeline.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

TEST(HubCache, NamesOfTheHub) {
  const auto whole = parse_hub_name("Org-1/a_b.c-2@refs/pr/1");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->repository, "Org-1/a_b.c-2");
  EXPECT_EQ(whole->revision, "refs/pr/1");
  EXPECT_EQ(parse_hub_name("o/n")->revision, "");
  for (const char* text : {"",     "/",    "o",        "o/",     "/n",      "o/n/m",    "../n",
                           "o/..", "o/n@", "o/n@../x", "o/n@/x", "o/n@x/",  "o/n@a//b", "o--p/n",
                           "o/-n", "o/n.", "./n",      "o/n m",  "o/n@a@b", "o/n@a b",  "o\\p/n"})
    EXPECT_FALSE(parse_hub_name(text)) << text;
  EXPECT_FALSE(parse_hub_name("o/" + std::string(95, 'x')));
  EXPECT_FALSE(parse_hub_name(std::string_view("o/n\0", 4)));
}

TEST(HubCache, FromPretrainedTakesThem) {
  const test::ScratchFolder hub;
  const fs::path snapshot = hub / "models--org--tiny" / fs::path("snapshots/0123456789abcdef");
  fs::create_directories(snapshot.parent_path());
  fs::copy(test::data_folder() / "models/tiny-pixart-sigma", snapshot, fs::copy_options::recursive);
  hub.write("models--org--tiny/refs/main", "0123456789abcdef\n");
  ASSERT_EQ(setenv("HF_HUB_CACHE", hub.path().c_str(), 1), 0);
  for (const char* name : {"org/tiny", "org/tiny@main", "org/tiny@0123"})
    EXPECT_EQ(AutoPipelineForText2Image::from_pretrained(name).folder(), snapshot) << name;
  EXPECT_EQ(hub_name_of(snapshot)->repository, "org/tiny");
  EXPECT_EQ(hub_name_of(hub.path()), std::nullopt);
  EXPECT_EQ(incomplete_download(snapshot, "vae"), "");
  EXPECT_TRUE(test::contains(
      test::message_of(ErrorKind::model,
                       [] { static_cast<void>(AutoPipelineForText2Image::from_pretrained("org/absent")); }),
      "hf download org/absent"));
  ASSERT_EQ(unsetenv("HF_HUB_CACHE"), 0);
}

}  // namespace
}  // namespace perfuse
