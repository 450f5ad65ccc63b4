#include "apps/cli/request.h"

#include <gtest/gtest.h>

#include "perfuse/tensor/safetensors.h"
#include "tests/support/scratch.h"

namespace perfuse::cli {
namespace {

using perfuse::test::contains;
using perfuse::test::message_of;
using perfuse::test::ScratchFolder;

Request read(const std::string& text) { return read_request(parse_json(text, "r.json"), "r.json"); }

std::string refusal(const std::string& text, ErrorKind kind = ErrorKind::usage) {
  return message_of(kind, [&] { (void)read(text); });
}

// Every field once, in the order of request_field_names().
constexpr const char* kEverything = R"({
  "prompt": ["a", "b"], "negative_prompt": "c", "num_inference_steps": 7, "timesteps": [999.0, 1.0],
  "sigmas": [1.0, 0.5], "guidance_scale": 4.5, "eta": 0.5, "num_images_per_prompt": 2, "height": 64, "width": 128,
  "seed": [18446744073709551615, 0], "scheduler": {"class": "EulerDiscreteScheduler", "use_karras_sigmas": true},
  "clean_caption": false, "use_resolution_binning": true, "max_sequence_length": 120,
  "latents": {"file": "l.safetensors", "key": "x"}, "prompt_embeds": {"file": "e.safetensors"},
  "prompt_attention_mask": {"file": "m.safetensors"}, "negative_prompt_embeds": {"file": "n.safetensors"},
  "negative_prompt_attention_mask": {"file": "o.safetensors"}, "output": "out.png", "format": "png"})";

TEST(Request, EveryFieldComesBackAsItWas) {
  const Json json = parse_json(kEverything, "");
  EXPECT_EQ(to_json(read(kEverything)).dump(), json.dump());
  EXPECT_EQ(json.size(), request_field_names().size());
}

TEST(Request, NullIsNotSet) {
  EXPECT_EQ(to_json(read(R"({"prompt": null, "height": null, "image": null})")), Json::object());
}

TEST(Request, ArgumentsOfTheCall) {
  const auto a =
      to_arguments(read(R"({"prompt": "a", "seed": 3, "num_inference_steps": 5, "guidance_scale": 2,
                                       "use_resolution_binning": false, "scheduler": "EulerDiscreteScheduler"})"),
                   "r.json");
  EXPECT_EQ(a.prompt.values(), std::vector<std::string>{"a"});
  EXPECT_FALSE(a.prompt.is_list());
  EXPECT_EQ(a.seed.values(), std::vector<std::uint64_t>{3});
  EXPECT_EQ(a.num_inference_steps, 5);
  EXPECT_EQ(a.guidance_scale, 2.0);
  EXPECT_EQ(a.num_images_per_prompt, 1);
  EXPECT_FALSE(a.use_resolution_binning);
  EXPECT_EQ(a.scheduler->class_name, "EulerDiscreteScheduler");
  EXPECT_FALSE(a.height.has_value());
}

TEST(Request, TensorsComeFromFiles) {
  const ScratchFolder folder;
  const auto file = folder / "t.safetensors";
  write_safetensors(file, {{"a", Tensor::from<float>({1, 2}, {1, 2})}});
  Request request;
  request.prompt = "x";
  request.latents = TensorReference{file.string(), ""};
  EXPECT_EQ(to_arguments(request, "r").latents.shape(), (Shape{1, 2}));
  request.latents->key = "b";
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [&] { (void)to_arguments(request, "r"); }), "b"));
  write_safetensors(file, {{"a", Tensor::from<float>({1}, {1})}, {"b", Tensor::from<float>({1}, {1})}});
  request.latents->key.clear();
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [&] { (void)to_arguments(request, "r"); }), "2 tensors"));
  request.latents->file = (folder / "absent.safetensors").string();
  EXPECT_TRUE(
      contains(message_of(ErrorKind::io, [&] { (void)to_arguments(request, "r"); }), "absent.safetensors"));
}

TEST(Request, UnknownFieldsNameTheNearOnes) {
  EXPECT_TRUE(
      contains(refusal(R"({"hieght": 5})"), "r.json: unknown field \"hieght\"; did you mean height?"));
  EXPECT_TRUE(contains(refusal(R"({"steps": 5})"), "num_inference_steps"));
  EXPECT_TRUE(contains(refusal("[]"), "expected an object"));
}

TEST(Request, FieldsOfDiffusersThatPerfuseHasNot) {
  EXPECT_TRUE(contains(refusal(R"({"image": "in.png"})", ErrorKind::unsupported), "r.json: image: "));
  EXPECT_TRUE(contains(refusal(R"({"mask_image": "in.png"})", ErrorKind::unsupported), "mask_image"));
  EXPECT_TRUE(contains(refusal(R"({"generator": 0})", ErrorKind::unsupported), "\"seed\""));
}

TEST(Request, WrongTypesAndRanges) {
  EXPECT_TRUE(contains(refusal(R"({"height": "512"})"), "height: expected an integer, found \"512\""));
  EXPECT_TRUE(contains(refusal(R"({"height": 512.0})"), "expected an integer"));
  EXPECT_TRUE(contains(refusal(R"({"height": 18446744073709551615})"), "expected an integer from"));
  EXPECT_TRUE(contains(refusal(R"({"num_inference_steps": 2147483648})"), "to 2147483647"));
  EXPECT_TRUE(contains(refusal(R"({"seed": -1})"), "from 0 to 18446744073709551615"));
  EXPECT_TRUE(contains(refusal(R"({"seed": 18446744073709551616})"), "64 bits"));
  EXPECT_TRUE(contains(refusal(R"({"seed": [1, "2"]})"), "seed[1]"));
  EXPECT_TRUE(contains(refusal(R"({"seed": true})"), "seed"));
  EXPECT_TRUE(contains(refusal(R"({"prompt": []})"), "at least one"));
  EXPECT_TRUE(contains(refusal(R"({"prompt": ["a", 1]})"), "prompt[1]: expected a string"));
  EXPECT_TRUE(contains(refusal(R"({"prompt": {}})"), "a string or a list of strings"));
  EXPECT_TRUE(contains(refusal(R"({"timesteps": 5})"), "a list of numbers"));
  EXPECT_TRUE(contains(refusal(R"({"clean_caption": 1})"), "true or false"));
  EXPECT_TRUE(contains(refusal(R"({"scheduler": 5})"), "class name"));
  EXPECT_TRUE(contains(refusal(R"({"scheduler": {"class": 5}})"), "scheduler.class"));
  EXPECT_TRUE(contains(refusal(R"({"latents": "x.safetensors"})"), "\"file\""));
  EXPECT_TRUE(contains(refusal(R"({"latents": {"file": "x", "name": "y"}})"), "\"key\""));
}

TEST(Request, OverlayDropsWhatContradicts) {
  const Request base = read(R"({"prompt": "a", "timesteps": [5.0], "height": 64, "seed": 1})");
  Request over;
  over.num_inference_steps = 3;
  over.seed = std::uint64_t{2};
  EXPECT_EQ(to_json(overlay(base, over)).dump(),
            R"({"prompt":"a","num_inference_steps":3,"height":64,"seed":2})");
  Request embedded;
  embedded.prompt_embeds = TensorReference{"e", ""};
  EXPECT_FALSE(overlay(base, embedded).prompt.has_value());
  EXPECT_FALSE(overlay(embedded, base).prompt_embeds.has_value());
  EXPECT_EQ(to_json(overlay(base, Request{})).dump(), to_json(base).dump());
}

TEST(Request, ChecksBeforeTheCall) {
  const auto message = [](const Request& request) {
    return message_of(ErrorKind::usage, [&] { check_request(request, "generate"); });
  };
  EXPECT_TRUE(contains(message({}), "no prompt"));
  Request request;
  request.prompt = std::string("caf\xe9");
  EXPECT_TRUE(contains(message(request), "prompt: not valid UTF-8 at byte 3"));
  request.prompt = std::string(kMostInputBytes + 1, 'x');
  EXPECT_TRUE(contains(message(request), "at most 2.1 MB"));
  request.prompt = std::string();
  EXPECT_NO_THROW(check_request(request, "generate"));
}

TEST(Request, NumberOfImages) {
  const auto count = [](const std::string& text) { return count_images(to_arguments(read(text), "r"), "r"); };
  EXPECT_EQ(count(R"({"prompt": ["a", "b"], "num_images_per_prompt": 3})"), 6);
  for (const char* wrong : {"0", "-1", "1025", "2147483647"})
    EXPECT_TRUE(contains(
        message_of(ErrorKind::usage,
                   [&] { count(fmt::format(R"({{"prompt": "a", "num_images_per_prompt": {}}})", wrong)); }),
        "expected 1 to 1024"));
}

}  // namespace
}  // namespace perfuse::cli
