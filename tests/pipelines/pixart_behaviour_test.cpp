// What a PixArt pipeline does besides giving the right numbers.
#include <fmt/format.h>

#include <atomic>
#include <limits>
#include <map>
#include <thread>

#include "perfuse/perfuse.h"
#include "tests/support/golden.h"

namespace perfuse {
namespace {

DiffusionPipeline tiny(const LoadOptions& options = {}) {
  return AutoPipelineForText2Image::from_pretrained(test::data_folder() / "models/tiny-pixart-sigma",
                                                    options);
}

CallArguments call(std::uint64_t seed = 0) {
  CallArguments arguments;
  arguments.prompt = "a cat";
  arguments.height = arguments.width = 32;
  arguments.use_resolution_binning = false;
  arguments.max_sequence_length = 16;
  arguments.num_inference_steps = 3;
  arguments.seed = seed;
  return arguments;
}

Tensor entry(const Tensor& batch, std::int64_t i) { return batch.slice(0, i, i + 1); }

// The message of the Error that running `arguments` throws, after its kind.
std::string error_of(const DiffusionPipeline& pipe, const CallArguments& arguments) {
  try {
    static_cast<void>(pipe(arguments));
    return "no error";
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.kind()), error.what());
  }
}

TEST(PixArtBehaviour, TheCallbackSeesEachStepAndCanStop) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  std::vector<int> steps;
  Tensor last;
  arguments.callback_on_step_end = [&](const StepInfo& info) {
    steps.push_back(info.step);
    last = info.latents();
    return info.step < 1;
  };
  EXPECT_EQ(error_of(pipe, arguments), "cancelled: stopped by the callback after 2 of 3 steps");
  EXPECT_EQ(steps, (std::vector<int>{0, 1}));
  EXPECT_EQ(last.shape(), (Shape{1, 4, 4, 4}));
}

TEST(PixArtBehaviour, AStopRequestEndsTheRun) {
  const auto pipe = tiny();
  std::stop_source stop;
  CallArguments arguments = call();
  arguments.stop = stop.get_token();
  arguments.callback_on_step_end = [&](const StepInfo&) { return stop.request_stop(); };
  EXPECT_EQ(error_of(pipe, arguments).substr(0, 10), "cancelled:");
}

TEST(PixArtBehaviour, AWarmPipelineCompilesNothing) {
  const auto pipe = tiny();
  pipe.warmup(call());
  const auto compiled = pipe.executables_compiled();
  CallArguments other = call(7);
  other.prompt = "another prompt entirely";
  other.guidance_scale = 2.0;
  other.num_inference_steps = 5;
  other.scheduler = SchedulerChoice{"EulerDiscreteScheduler", Json::object()};
  static_cast<void>(pipe(other));
  EXPECT_EQ(pipe.executables_compiled(), compiled);
}

TEST(PixArtBehaviour, BlocksOfOneShapeAreOneExecutable) {
  const auto pipe = tiny();
  static_cast<void>(pipe(call()));
  for (const auto& report : pipe.report()) {
    if (report.name == "vae") continue;
    EXPECT_EQ(report.distinct_executables, 3u) << report.name;  // before, block, after
    EXPECT_GT(report.segments, 3u) << report.name;
    EXPECT_FALSE(report.kernels.empty());
  }
}

TEST(PixArtBehaviour, AListOfSeedsDrawsEachPictureAsAlone) {
  const auto pipe = tiny();
  CallArguments several = call();
  several.num_images_per_prompt = 2;
  several.seed = std::vector<std::uint64_t>{3, 9};
  const Tensor both = pipe(several).image_tensor;
  EXPECT_LE(test::max_difference(entry(both, 0), pipe(call(3)).image_tensor), 1e-4);
  EXPECT_LE(test::max_difference(entry(both, 1), pipe(call(9)).image_tensor), 1e-4);
}

TEST(PixArtBehaviour, SeveralPromptsAreABatch) {
  const auto pipe = tiny();
  CallArguments several = call();
  several.prompt = std::vector<std::string>{"a cat", "a dog"};
  several.negative_prompt = std::vector<std::string>{"blurry", ""};
  several.seed = std::vector<std::uint64_t>{3, 9};
  const auto output = pipe(several);
  ASSERT_EQ(output.images.size(), 2u);
  CallArguments second = call(9);
  second.prompt = "a dog";
  EXPECT_LE(test::max_difference(entry(output.image_tensor, 1), pipe(second).image_tensor), 1e-4);
}

TEST(PixArtBehaviour, OwnTimestepsReplaceTheNumberOfSteps) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  std::vector<double> seen;
  arguments.timesteps = {900, 500, 20};
  arguments.callback_on_step_end = [&](const StepInfo& info) {
    seen.push_back(info.timestep);
    return true;
  };
  static_cast<void>(pipe(arguments));
  EXPECT_EQ(seen, arguments.timesteps);
}

TEST(PixArtBehaviour, OwnSigmasGoToASchedulerThatTakesThem) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  arguments.num_inference_steps.reset();
  arguments.sigmas = {10.0, 3.0, 1.0, 0.0};
  EXPECT_NE(error_of(pipe, arguments).find("sigmas"), std::string::npos);  // DPMSolverMultistep takes none
  arguments.scheduler = SchedulerChoice{"EulerDiscreteScheduler", Json::object()};
  Tensor sigmas;
  arguments.tensors = [&](const std::string& key, const Tensor& value) {
    if (key == "sigmas") sigmas = value;
  };
  static_cast<void>(pipe(arguments));
  EXPECT_LE(test::max_difference(sigmas, Tensor::from<float>({4}, {10.0f, 3.0f, 1.0f, 0.0f})), 1e-6);
}

TEST(PixArtBehaviour, OverlappingCallsGiveWhatSingleOnesGive) {
  const auto pipe = tiny();
  std::vector<Tensor> alone;
  for (std::uint64_t seed = 0; seed < 3; ++seed) alone.push_back(pipe(call(seed)).image_tensor);
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    threads.emplace_back([&, seed] {
      for (int i = 0; i < 3; ++i)
        if (test::max_difference(pipe(call(seed)).image_tensor, alone[seed]) != 0.0) ++wrong;
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(PixArtBehaviour, TapsGiveInnerValuesAndUnknownOnesNameTheNear) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  std::map<std::string, Tensor> seen;
  arguments.tensors = [&](const std::string& key, const Tensor& value) { seen[key] = value; };
  arguments.taps = {"transformer.transformer_blocks.0.attn1", "vae.decoder.mid_block",
                    "text_encoder.encoder.block.1"};
  static_cast<void>(pipe(arguments));
  EXPECT_EQ(seen.at(arguments.taps[0]).shape(), (Shape{2, 4, 48}));
  EXPECT_EQ(seen.at(arguments.taps[1]).shape(), (Shape{1, 16, 4, 4}));
  EXPECT_EQ(seen.at(arguments.taps[2]).shape(), (Shape{2, 16, 40}));
  arguments.taps = {"transformer.transformer_block.0"};
  EXPECT_NE(error_of(pipe, arguments).find("transformer_blocks.0"), std::string::npos);
}

TEST(PixArtBehaviour, TapsOfGuidanceInTwoRunsAreThoseOfOneBatch) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  std::map<std::string, Tensor> seen, batched;
  arguments.tensors = [&](const std::string& key, const Tensor& value) { seen[key] = value; };
  arguments.taps = {"transformer.transformer_blocks.0.attn1", "text_encoder.encoder.block.1"};
  arguments.cfg = CfgMode::batched;
  static_cast<void>(pipe(arguments));
  std::swap(seen, batched);
  arguments.cfg = CfgMode::sequential;
  static_cast<void>(pipe(arguments));
  for (const auto& path : arguments.taps) {
    ASSERT_EQ(seen.at(path).shape(), batched.at(path).shape()) << path;
    EXPECT_LE(test::max_difference(seen.at(path), batched.at(path)), 1e-4) << path;
  }
}

TEST(PixArtBehaviour, TapsAreOfComponentsThatRun) {
  const auto pipe = tiny();
  CallArguments arguments = call();
  arguments.prompt = {};
  arguments.max_sequence_length.reset();
  arguments.guidance_scale = 1.0;
  arguments.prompt_embeds = Tensor::zeros(DType::f32, {1, 16, 40});
  arguments.prompt_attention_mask = Tensor::from<std::int64_t>({1, 16}, std::vector<std::int64_t>(16, 1));
  int tensors = 0;
  arguments.tensors = [&](const std::string&, const Tensor&) { ++tensors; };
  arguments.taps = {"text_encoder.encoder.block.1"};
  EXPECT_NE(error_of(pipe, arguments).find("component of this run"), std::string::npos);
  EXPECT_EQ(tensors, 0);  // said before anything ran
  arguments.taps = {"transformer.transformer_blocks.0"};
  static_cast<void>(pipe(arguments));
  EXPECT_GT(tensors, 0);
}

TEST(PixArtBehaviour, SaysWhatHasNoEffect) {
  const auto pipe = tiny();
  EXPECT_EQ(pipe(call()).warnings, std::vector<std::string>{});
  const auto first_warning = [&](auto change) {
    CallArguments arguments = call();
    change(arguments);
    const auto warnings = pipe(arguments).warnings;
    return warnings.empty() ? std::string() : warnings.front();
  };
  using A = CallArguments;
  EXPECT_EQ(first_warning([](A& a) { a.eta = 0.5; }), "eta: no effect: this scheduler's step takes none");
  EXPECT_EQ(first_warning([](A& a) {
              a.timesteps = {900, 20};
            }),
            "num_inference_steps: no effect: timesteps are given");
  constexpr auto off = ": no effect: guidance_scale is 1 or less, which turns guidance off";
  EXPECT_EQ(first_warning([](A& a) { a.guidance_scale = 1.0, a.negative_prompt = "blurry"; }),
            std::string("negative_prompt") + off);
  EXPECT_EQ(first_warning([](A& a) { a.guidance_scale = 1.0, a.cfg = CfgMode::sequential; }),
            std::string("cfg") + off);
  const auto embeds = [](A& a) {
    a.prompt = {};
    a.prompt_embeds = Tensor::zeros(DType::f32, {1, 16, 40});
    a.prompt_attention_mask = Tensor::from<std::int64_t>({1, 16}, std::vector<std::int64_t>(16, 1));
  };
  EXPECT_EQ(first_warning(embeds), "max_sequence_length: no effect: prompt_embeds are given");
  EXPECT_EQ(first_warning([&](A& a) {
              embeds(a);
              a.max_sequence_length.reset();
              a.guidance_scale = 1.0;
              a.clean_caption = true;
            }),
            "clean_caption: no effect: prompt_embeds are given");
}

TEST(PixArtBehaviour, AFolderOpensAsEitherClass) {
  const auto folder = test::data_folder() / "models/tiny-pixart-sigma";
  EXPECT_EQ(PixArtSigmaPipeline::from_pretrained(folder).class_name(), "PixArtSigmaPipeline");
  EXPECT_EQ(PixArtAlphaPipeline::from_pretrained(folder).class_name(), "PixArtAlphaPipeline");
}

TEST(PixArtBehaviour, RefusesAnotherDeviceBeforeGivingThePresentOneUp) {
  auto pipe = tiny();
  EXPECT_THROW(pipe.to(Device("neuron:0")), Error);
  EXPECT_EQ(pipe.device(), Device("cpu"));
  EXPECT_EQ(pipe(call()).images.size(), 1u);
}

TEST(PixArtBehaviour, SaysWhatIsWrongWithItsArguments) {
  const auto pipe = tiny();
  const auto broken = [&](auto change) {
    CallArguments arguments = call();
    change(arguments);
    return error_of(pipe, arguments);
  };
  using A = CallArguments;
  const std::vector<std::pair<std::string, std::string>> said{
      {broken([](A& a) { a.prompt = {}; }), "prompt"},
      {broken([](A& a) { a.prompt = std::string(2 << 20, 'a'); }), "prompt"},
      {broken([](A& a) { a.prompt = std::string("a\xff"); }), "byte 1"},
      {broken([](A& a) {
         a.negative_prompt = std::vector<std::string>{"a", "b"};
       }),
       "negative_prompt"},
      {broken([](A& a) { a.height = 0; }), "height is 0"},
      {broken([](A& a) { a.width = -8; }), "width is -8"},
      {broken([](A& a) { a.height = 513, a.width = 20; }), "height is 513, width is 20"},
      {broken([](A& a) { a.height = std::numeric_limits<std::int64_t>::max(); }), "height is"},
      {broken([](A& a) { a.num_inference_steps = 0; }), "num_inference_steps"},
      {broken([](A& a) { a.num_inference_steps = 100000; }), "num_inference_steps"},
      {broken([](A& a) { a.guidance_scale = std::numeric_limits<double>::quiet_NaN(); }), "guidance_scale"},
      {broken([](A& a) { a.num_images_per_prompt = 0; }), "num_images_per_prompt"},
      {broken([](A& a) { a.num_images_per_prompt = 1 << 30; }), "num_images_per_prompt"},
      {broken([](A& a) {
         a.seed = std::vector<std::uint64_t>{1, 2};
       }),
       "seed"},
      {broken([](A& a) { a.max_sequence_length = 1; }), "max_sequence_length"},
      {broken([](A& a) {
         a.latents = Tensor::zeros(DType::f32, {1, 4, 5, 5});
       }),
       "latents"},
      {broken([](A& a) {
         a.prompt_embeds = Tensor::zeros(DType::f32, {1, 4, 40});
       }),
       "prompt_embeds"},
      {broken([](A& a) {
         a.scheduler = SchedulerChoice{"EulerDiscret", Json::object()};
       }),
       "EulerDiscreteScheduler"},
      {broken([](A& a) { a.eta = 2.0; }), "eta"},
  };
  for (const auto& [message, part] : said) {
    EXPECT_EQ(message.substr(0, 6), "usage:") << message;
    EXPECT_NE(message.find(part), std::string::npos) << message << " / " << part;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_EQ(broken([](A& a) { a.cfg = CfgMode::parallel; }).substr(0, 12), "unsupported:");
}

TEST(PixArtBehaviour, SaysHowMuchMemoryARunNeeds) {
  const auto pipe = tiny();
  CallArguments larger = call();
  larger.height = larger.width = 256;
  EXPECT_GT(pipe.memory_needed(larger), pipe.memory_needed(call()));
}

}  // namespace
}  // namespace perfuse
