// Every recorded run of the tiny PixArt pipelines, step by step, and of the shipped model.
#include <fmt/format.h>

#include <map>

#include "perfuse/core/threads.h"
#include "perfuse/perfuse.h"
#include "tests/support/golden.h"

namespace perfuse {
namespace {

using test::Golden;

// The golden's "call" object as arguments. Fields that this test does not know fail it.
CallArguments call_arguments(const Json& json) {
  CallArguments a;
  for (const auto& [key, value] : json.at("call").items()) {
    if (key == "prompt")
      a.prompt = value.get<std::string>();
    else if (key == "negative_prompt")
      a.negative_prompt = value.get<std::string>();
    else if (key == "height")
      a.height = value.get<std::int64_t>();
    else if (key == "width")
      a.width = value.get<std::int64_t>();
    else if (key == "num_inference_steps")
      a.num_inference_steps = value.get<int>();
    else if (key == "guidance_scale")
      a.guidance_scale = value.get<double>();
    else if (key == "use_resolution_binning")
      a.use_resolution_binning = value.get<bool>();
    else if (key == "num_images_per_prompt")
      a.num_images_per_prompt = value.get<int>();
    else if (key == "clean_caption")
      a.clean_caption = value.get<bool>();
    else
      ADD_FAILURE() << "the golden has an argument that this test does not pass on: " << key;
  }
  a.seed = json.at("seed").get<std::uint64_t>();
  const auto& override = json.at("scheduler_override");
  if (!override.is_null())
    a.scheduler = SchedulerChoice{override.at("class").get<std::string>(), override.at("from_config_kwargs")};
  return a;
}

struct Dump {
  std::map<std::string, Tensor> tensors;
  void attach(CallArguments& arguments) {
    arguments.tensors = [this](const std::string& key, const Tensor& tensor) { tensors[key] = tensor; };
  }
  const Tensor& at(const std::string& key) const {
    const auto found = tensors.find(key);
    if (found == tensors.end()) fail(ErrorKind::usage, "the run gave no tensor {}", key);
    return found->second;
  }
};

struct Case {
  std::string model, name;
  friend void PrintTo(const Case& which, std::ostream* out) { *out << which.model << "/" << which.name; }
};

class PixArtGolden : public ::testing::TestWithParam<std::tuple<Case, graph::Granularity>> {};

TEST_P(PixArtGolden, EveryTensor) {
  const auto& [which, granularity] = GetParam();
  const Golden golden = Golden::open(which.model + "/" + which.name);
  const auto pipe = AutoPipelineForText2Image::from_pretrained(
      test::data_folder() / "models" / which.model, {.dtype = DType::f32, .granularity = granularity});
  CallArguments arguments = call_arguments(golden.json);
  Dump dump;
  dump.attach(arguments);
  const PipelineOutput output = pipe(arguments);

  EXPECT_TRUE(test::same_integers(dump.at("input_ids"), golden["text_encoder.call0.input_ids"]));
  EXPECT_TRUE(test::same_integers(dump.at("timesteps"), golden["timesteps"]));
  EXPECT_TRUE(test::same_integers(dump.at("prompt_attention_mask"), golden["encode_prompt.call0.1"]));
  if (golden.has("encode_prompt.call0.3")) {
    EXPECT_TRUE(
        test::same_integers(dump.at("negative_prompt_attention_mask"), golden["encode_prompt.call0.3"]));
  }

  std::map<std::string, std::string> pairs{{"encode_prompt.call0.0", "prompt_embeds"},
                                           {"encode_prompt.call0.2", "negative_prompt_embeds"}};
  for (const auto& key : golden.tensors.names())
    if (key == "sigmas" || key == "model_output.step0" || key == "image" || key.starts_with("latents"))
      pairs[key] = key;
  for (const auto& [recorded, ours] : pairs) {
    if (!golden.has(recorded)) continue;
    EXPECT_TRUE(test::near_golden(dump.at(ours), golden, recorded));
  }

  // The bytes: rounding may fall the other way where a value lies on an edge.
  const Tensor bytes = golden["image_u8"];
  ASSERT_EQ(static_cast<std::int64_t>(output.images.size()), bytes.dim(0));
  for (std::size_t i = 0; i < output.images.size(); ++i) {
    const auto mine = output.images[i].rgb();
    const Tensor theirs = bytes.slice(0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1);
    ASSERT_EQ(mine.size(), static_cast<std::size_t>(theirs.numel()));
    int most = 0;
    for (std::size_t k = 0; k < mine.size(); ++k)
      most = std::max(most, std::abs(int{mine[k]} - int{theirs.data<std::uint8_t>()[k]}));
    EXPECT_LE(most, 1);
  }
}

std::string case_name(const ::testing::TestParamInfo<std::tuple<Case, graph::Granularity>>& tested) {
  const Case& which = std::get<0>(tested.param);
  return which.model.substr(std::string("tiny-pixart-").size()) + "_" + which.name + "_" +
         std::string(graph::to_string(std::get<1>(tested.param)));
}

const auto kCases =
    ::testing::Values(Case{"tiny-pixart-alpha", "basic"}, Case{"tiny-pixart-alpha", "noguide_raw"},
                      Case{"tiny-pixart-sigma", "basic"}, Case{"tiny-pixart-sigma", "binning"},
                      Case{"tiny-pixart-sigma", "long_karras"});

// `Full` tests run with ./run-tests --full.
INSTANTIATE_TEST_SUITE_P(, PixArtGolden,
                         ::testing::Combine(kCases, ::testing::Values(graph::Granularity::block)), case_name);
INSTANTIATE_TEST_SUITE_P(Full, PixArtGolden,
                         ::testing::Combine(kCases, ::testing::Values(graph::Granularity::op,
                                                                      graph::Granularity::whole)),
                         case_name);

// Native bf16 from the recorded bf16 noise: these untrained models amplify every rounding, so the mean decides.
class PixArtBf16 : public ::testing::TestWithParam<std::string> {};

TEST_P(PixArtBf16, MeanIsAsCloseAsDiffusersOwn) {
  const Golden f32 = Golden::open(GetParam() + "/basic");
  const auto recorded =
      SafetensorsFile::open(test::data_folder() / "golden" / GetParam() / "basic.bf16.safetensors");
  const auto pipe = AutoPipelineForText2Image::from_pretrained(test::data_folder() / "models" / GetParam(),
                                                               {.dtype = DType::bf16});
  CallArguments arguments = call_arguments(f32.json);
  arguments.latents = recorded.tensor("noise.0");
  const double allowed = 2.0 * f32.json.at("bf16_vs_f32_same_noise").at("image").at("mean").get<double>();
  const double off = test::mean_difference(pipe(arguments).image_tensor, recorded.tensor("image"));
  EXPECT_LE(off, allowed);
  RecordProperty("mean_difference", fmt::format("{}", off));
}

INSTANTIATE_TEST_SUITE_P(, PixArtBf16, ::testing::Values("tiny-pixart-alpha", "tiny-pixart-sigma"),
                         [](const auto& tested) { return tested.param.substr(12); });

// Options that must not change the numbers beyond the tolerance.
class SameNumbers : public ::testing::Test {
 protected:
  const Golden golden_ = Golden::open("tiny-pixart-sigma/basic");
  Tensor image(const CallArguments& arguments) const {
    return AutoPipelineForText2Image::from_pretrained(test::data_folder() /
                                                      "models/tiny-pixart-sigma")(arguments)
        .image_tensor;
  }
};

TEST_F(SameNumbers, SequentialGuidance) {
  CallArguments arguments = call_arguments(golden_.json);
  arguments.cfg = CfgMode::sequential;
  EXPECT_TRUE(test::near_golden(image(arguments), golden_, "image"));
}

TEST_F(SameNumbers, OneThreadAndTwo) {
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    EXPECT_TRUE(test::near_golden(image(call_arguments(golden_.json)), golden_, "image"))
        << threads << " threads";
  }
  set_num_threads(before);
}

TEST_F(SameNumbers, TheSameBytesTwice) {
  const CallArguments arguments = call_arguments(golden_.json);
  EXPECT_EQ(test::max_difference(image(arguments), image(arguments)), 0.0);
}

TEST_F(SameNumbers, LatentsAndEmbeddingsGivenInsteadOfDrawn) {
  CallArguments arguments = call_arguments(golden_.json);
  Dump dump;
  dump.attach(arguments);
  static_cast<void>(image(arguments));
  arguments.prompt = {};
  arguments.tensors = nullptr;
  arguments.prompt_embeds = dump.at("prompt_embeds");
  arguments.prompt_attention_mask = dump.at("prompt_attention_mask");
  arguments.negative_prompt_embeds = dump.at("negative_prompt_embeds");
  arguments.negative_prompt_attention_mask = dump.at("negative_prompt_attention_mask");
  arguments.latents = golden_["noise.0"];
  EXPECT_TRUE(test::near_golden(image(arguments), golden_, "image"));
}

// The shipped model draws what it drew in diffusers, within 2/255 in every channel.
TEST(ShippedModel, DrawsTheRecordedPictures) {
  const Golden golden = Golden::open("emoji-pixart/golden");
  const auto pipe = AutoPipelineForText2Image::from_pretrained(PERFUSE_SOURCE_DIR "/models/emoji-pixart");
  for (std::size_t i = 0; i < 3; ++i) {
    CallArguments arguments;
    arguments.prompt = golden.json.at("prompts").at(i).get<std::string>();
    arguments.num_inference_steps = golden.json.at("num_inference_steps").get<int>();
    arguments.guidance_scale = golden.json.at("guidance_scale").get<double>();
    arguments.max_sequence_length = golden.json.at("max_sequence_length").get<int>();
    arguments.seed = 0;
    Dump dump;
    dump.attach(arguments);
    const Tensor picture = pipe(arguments).image_tensor;
    const auto key = fmt::format("p{}.", i);
    EXPECT_TRUE(test::same_integers(dump.at("input_ids"), golden[key + "input_ids"]));
    EXPECT_LE(test::max_difference(dump.at("prompt_embeds"), golden[key + "prompt_embeds"]), 1e-4);
    EXPECT_LE(test::max_difference(picture.reshape({128, 128, 3}), golden[key + "image"]), 2.0 / 255.0)
        << arguments.prompt.values()[0];
  }
}

}  // namespace
}  // namespace perfuse
