#include "apps/cli/metadata.h"

#include <gtest/gtest.h>

#include <limits>

#include "perfuse/image/image.h"
#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

Record example() {
  Record record;
  record.index = 3;
  record.count = 4;
  record.request = read_request(
      parse_json(R"({"prompt": ["a red apple", "ein Kühlschrank 🧊"], "num_images_per_prompt": 2,
    "negative_prompt": "blurry", "seed": [1, 2, 3, 18446744073709551615], "guidance_scale": 4.5, "height": 64, "width": 32,
    "scheduler": {"class": "EulerDiscreteScheduler", "beta_start": 0.5}})",
                 ""),
      "");
  record.run.model = "emoji-pixart";
  record.run.threads = 2;
  record.settings = {{"num_inference_steps", 20},
                     {"guidance_scale", 4.5},
                     {"scheduler",
                      {{"_class_name", "EulerDiscreteScheduler"},
                       {"lambda_min_clipped", -std::numeric_limits<double>::infinity()}}}};
  return record;
}

TEST(Metadata, TextForPeopleIsOfThisPicture) {
  const auto text = image_text(example());
  EXPECT_EQ(text.at("prompt"), "ein Kühlschrank 🧊");
  EXPECT_EQ(text.at("negative_prompt"), "blurry");
  EXPECT_EQ(text.at("seed"), "18446744073709551615");
  EXPECT_EQ(text.at("model"), "emoji-pixart");
  EXPECT_TRUE(contains(text.at("Software"), "perfuse "));
  EXPECT_EQ(text.at("parameters"),
            "ein Kühlschrank 🧊\nNegative prompt: blurry\nSteps: 20, Sampler: EulerDiscreteScheduler, CFG "
            "scale: 4.5, "
            "Seed: 18446744073709551615, Size: 32x64, Model: emoji-pixart");
  EXPECT_TRUE(contains(text.at("perfuse"), R"("lambda_min_clipped":"-Infinity")"));
}

TEST(Metadata, PicturesGiveTheirRecordBack) {
  const ScratchFolder folder;
  const Record record = example();
  for (const char* name : {"a.png", "a.jpg"}) {
    Image(1, 1, {1, 2, 3}).save(folder / name, image_text(record));
    const Record back = read_record(folder / name);
    EXPECT_EQ(back.index, 3);
    EXPECT_EQ(back.count, 4);
    EXPECT_EQ(to_json(back.request).dump(), to_json(record.request).dump());
    EXPECT_EQ(to_json(back.run).dump(), to_json(record.run).dump());
  }
}

TEST(Metadata, AnyPromptCanBeSaved) {
  Record record = example();
  record.request.prompt = std::string("nul \0 and \x01", 11);
  record.run.model = "/models/caf\xe9";
  EXPECT_NO_THROW(check_image_text(image_text(record)));
}

TEST(Metadata, ResolvedRequestFillsInWhatIsNotSet) {
  const Json settings{{"seed", 77},
                      {"num_inference_steps", 20},
                      {"guidance_scale", 4.5},
                      {"height", 128},
                      {"width", 128},
                      {"pipeline", "X"},
                      {"scheduler", Json::object()},
                      {"max_sequence_length", 300},
                      {"negative_prompt", ""}};
  Request request;
  request.prompt = "a";
  request.height = 64;
  request.output = "a.png";
  EXPECT_EQ(
      to_json(resolved_request(request, settings)).dump(),
      R"({"prompt":"a","negative_prompt":"","num_inference_steps":20,"guidance_scale":4.5,"height":64,"width":128,)"
      R"("seed":77,"max_sequence_length":300})");
  request.timesteps = {9.0};
  EXPECT_FALSE(resolved_request(request, settings).num_inference_steps.has_value());
}

TEST(Metadata, PicturesWithoutSettings) {
  const ScratchFolder folder;
  const auto refusal = [&](ErrorKind kind, const ImageText& text) {
    Image(1, 1, {1, 2, 3}).save(folder / "a.png", text);
    return message_of(kind, [&] { (void)read_record(folder / "a.png"); });
  };
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {}), "a.png: the picture holds no settings"));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {{"perfuse", "{"}}), "a.png"));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {{"perfuse", "[]"}}), "a.png"));
  EXPECT_TRUE(contains(refusal(ErrorKind::usage, {{"perfuse", "{}"}}), "format"));
  EXPECT_TRUE(contains(refusal(ErrorKind::unsupported, {{"perfuse", R"({"format": 2})"}}), "format 2"));
  EXPECT_TRUE(contains(
      refusal(ErrorKind::usage, {{"perfuse", R"({"format":1,"index":4,"count":4,"request":{},"run":{}})"}}),
      "index"));
  EXPECT_TRUE(
      contains(refusal(ErrorKind::usage,
                       {{"perfuse", R"({"format":1,"index":0,"count":1,"request":{"seed":"x"},"run":{}})"}}),
               "seed"));
  EXPECT_TRUE(
      contains(refusal(ErrorKind::usage,
                       {{"perfuse", R"({"format":1,"index":0,"count":1,"request":{},"run":{"model":5}})"}}),
               "model"));
  (void)message_of(ErrorKind::io, [&] { (void)read_record(folder / "absent.png"); });
  (void)message_of(ErrorKind::model, [&] { (void)read_record(folder.write("b.png", "<html>")); });
}

}  // namespace
}  // namespace perfuse::cli
