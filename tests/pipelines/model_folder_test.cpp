// Folders as people have them: what older and other programs wrote, and configurations that decide the picture.
#include <fmt/format.h>

#include "perfuse/perfuse.h"
#include "tests/support/golden.h"
#include "tests/support/model_copy.h"

namespace perfuse {
namespace {

using test::contains;
using test::Messages;
using test::ModelCopy;

constexpr const char* kAlpha = "tiny-pixart-alpha";

CallArguments apple(int steps = 4) {
  CallArguments arguments;
  arguments.prompt = "a red apple";
  arguments.height = arguments.width = 64;
  arguments.use_resolution_binning = false;
  arguments.num_inference_steps = steps;
  arguments.seed = 0;
  return arguments;
}

DiffusionPipeline open(const std::filesystem::path& folder) {
  return AutoPipelineForText2Image::from_pretrained(folder);
}

Tensor draw(const std::filesystem::path& folder, const CallArguments& arguments = apple()) {
  return open(folder)(arguments).image_tensor;
}

Tensor draw_plain(const CallArguments& arguments = apple()) {
  return draw(test::data_folder() / "models" / kAlpha, arguments);
}

// The tensors that a run hands out under these names.
std::map<std::string, Tensor> tensors_of(const std::filesystem::path& folder, CallArguments arguments) {
  std::map<std::string, Tensor> result;
  arguments.tensors = [&](const std::string& key, const Tensor& tensor) { result[key] = tensor; };
  static_cast<void>(open(folder)(arguments));
  return result;
}

std::string error_of(ErrorKind kind, const std::filesystem::path& folder,
                     const CallArguments& arguments = apple()) {
  return test::message_of(kind, [&] { static_cast<void>(draw(folder, arguments)); });
}

// The first published PixArt: another class name, fields that came later absent.
TEST(ModelFolder, OfTheFirstReleases) {
  const ModelCopy model(kAlpha);
  model.edit("model_index.json", [](Json& j) {
    j["transformer"] = {"diffusers", "Transformer2DModel"};
    j["_diffusers_version"] = "0.22.0.dev0";
    j["feature_extractor"] = {nullptr, nullptr};
    j["image_encoder"] = nullptr;
    j["requires_safety_checker"] = true;
  });
  model.edit("transformer/config.json", [](Json& j) {
    j["_class_name"] = "Transformer2DModel";
    j["_diffusers_version"] = "0.22.0.dev0";
    j["double_self_attention"] = j["only_cross_attention"] = j["use_linear_projection"] = false;
    j["num_vector_embeds"] = nullptr;
    for (const auto* key : {"interpolation_scale", "use_additional_conditions"}) j.erase(key);
  });
  model.edit("vae/config.json", [](Json& j) {
    j["sample_size"] = {64, 64};
    for (const auto* key : {"latents_mean", "latents_std", "shift_factor", "use_quant_conv",
                            "use_post_quant_conv", "mid_block_add_attention", "force_upcast"})
      j.erase(key);
  });
  const Messages messages;
  EXPECT_EQ(test::max_difference(draw(model.path()), draw_plain()), 0.0);
  EXPECT_TRUE(messages.lines.empty()) << messages.lines.front();

  model.edit("transformer/config.json", [](Json& j) { j["norm_type"] = "ada_norm_zero"; });
  EXPECT_TRUE(contains(error_of(ErrorKind::unsupported, model.path()), "norm_type: \"ada_norm_zero\""));
  model.edit("transformer/config.json", [](Json& j) { j.erase("norm_type"); });
  EXPECT_TRUE(contains(error_of(ErrorKind::unsupported, model.path()), "norm_type: missing"));
}

TEST(ModelFolder, ComponentsThatThePipelineDoesWithout) {
  const ModelCopy model(kAlpha);
  model.edit("model_index.json", [](Json& j) {
    j["safety_checker"] = {"stable_diffusion", "StableDiffusionSafetyChecker"};
    j["feature_extractor"] = {"transformers", "CLIPImageProcessor"};
  });
  const Messages messages;
  EXPECT_EQ(test::max_difference(draw(model.path()), draw_plain()), 0.0);
  ASSERT_EQ(messages.lines.size(), 1u);
  EXPECT_TRUE(
      contains(messages.lines[0],
               "safety_checker (StableDiffusionSafetyChecker), feature_extractor (CLIPImageProcessor)"));
}

TEST(ModelFolder, WeightsOfPyTorchAreRefusedWithTheCommandThatConvertsThem) {
  const ModelCopy model(kAlpha);
  for (const auto& entry : std::filesystem::directory_iterator(model.path() / "vae"))
    if (entry.path().extension() == ".safetensors") std::filesystem::remove(entry.path());
  model.write("vae/diffusion_pytorch_model.bin", "x");
  const auto message = error_of(ErrorKind::model, model.path());
  EXPECT_TRUE(contains(message, "diffusion_pytorch_model.bin"));
  EXPECT_TRUE(
      contains(message, fmt::format("from_pretrained(\"{}\").save_pretrained", model.path().string())));
}

TEST(ModelFolder, TheIndexNamesTheScheduler) {
  CallArguments euler = apple();
  euler.scheduler = SchedulerChoice{"EulerDiscreteScheduler", Json::object()};
  const Tensor expected = draw_plain(euler);

  const ModelCopy model(kAlpha);
  model.edit("model_index.json", [](Json& j) { j["scheduler"] = {"diffusers", "EulerDiscreteScheduler"}; });
  {
    const Messages messages(log::Level::info);
    EXPECT_EQ(test::max_difference(draw(model.path()), expected), 0.0);
    ASSERT_EQ(messages.lines.size(), 1u);
    EXPECT_TRUE(contains(messages.lines[0], "_class_name \"DPMSolverMultistepScheduler\" is not obeyed"));
  }
  const auto tensors = tensors_of(model.path(), apple());
  const auto sigmas = tensors.at("sigmas").data<float>();
  const std::vector<float> wanted{157.40727f, 9.48892f, 1.46236f, 0.01f, 0.0f};
  ASSERT_EQ(sigmas.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(sigmas[i], wanted[i], 2e-4f * wanted[i]) << i;
  const auto timesteps = tensors.at("timesteps").to(DType::f32);
  EXPECT_EQ(std::vector<float>(timesteps.data<float>().begin(), timesteps.data<float>().end()),
            (std::vector<float>{999, 666, 333, 0}));

  for (const Json& stale : {Json("VeryNewScheduler"), Json(nullptr)}) {
    model.edit("scheduler/scheduler_config.json", [&](Json& j) {
      stale.is_null() ? static_cast<void>(j.erase("_class_name"))
                      : static_cast<void>(j["_class_name"] = stale);
    });
    EXPECT_EQ(test::max_difference(draw(model.path()), expected), 0.0);
  }
}

TEST(ModelFolder, ASchedulerThatPerfuseLacksIsRefusedOnlyIfNoneWasChosen) {
  const ModelCopy model(kAlpha);
  model.edit("model_index.json", [](Json& j) { j["scheduler"] = {"diffusers", "NonesuchScheduler"}; });
  model.edit("scheduler/scheduler_config.json", [](Json& j) { j["_class_name"] = "NonesuchScheduler"; });
  const auto message = error_of(ErrorKind::unsupported, model.path());
  EXPECT_TRUE(contains(message, "NonesuchScheduler"));
  EXPECT_TRUE(contains(message, "--scheduler"));
  EXPECT_GT(open(model.path()).memory_needed(apple()), 0u);
  CallArguments chosen = apple();
  chosen.scheduler = SchedulerChoice{"DPMSolverMultistepScheduler", Json::object()};
  EXPECT_EQ(test::max_difference(draw(model.path(), chosen), draw_plain()), 0.0);
}

TEST(ModelFolder, T5sActivationAndGate) {
  const Tensor plain = tensors_of(test::data_folder() / "models" / kAlpha, apple()).at("prompt_embeds");
  const auto change = [&](const std::function<void(Json&)>& edit) {
    const ModelCopy model(kAlpha);
    model.edit("text_encoder/config.json", edit);
    return test::max_difference(tensors_of(model.path(), apple()).at("prompt_embeds"), plain);
  };
  EXPECT_NEAR(change([](Json& j) { j["dense_act_fn"] = "gelu"; }), 6.8e-4, 0.1e-4);
  EXPECT_NEAR(change([](Json& j) { j["dense_act_fn"] = "relu"; }), 0.88, 0.01);
  EXPECT_EQ(change([](Json& j) { j.erase("feed_forward_proj"); }), 0.0);
  EXPECT_EQ(change([](Json& j) {
              j.erase("dense_act_fn");
              j.erase("is_gated_act");
            }),
            0.0);
  EXPECT_EQ(change([](Json& j) {
              j["hidden_size"] = j["d_model"];
              j.erase("d_model");
            }),
            0.0);
  const ModelCopy model(kAlpha);
  model.edit("text_encoder/config.json", [](Json& j) { j["feed_forward_proj"] = "gated-gelu-new"; });
  EXPECT_TRUE(contains(error_of(ErrorKind::model, model.path()), "feed_forward_proj"));
}

// Without encoder and tokenizer (null in the index) a model draws from embeddings.
TEST(ModelFolder, WithoutATextEncoder) {
  const auto recorded = tensors_of(test::data_folder() / "models" / kAlpha, apple());
  for (const Json& null : {Json::array({nullptr, nullptr}), Json(nullptr)}) {
    const ModelCopy model(kAlpha);
    model.edit("model_index.json", [&](Json& j) { j["text_encoder"] = j["tokenizer"] = null; });
    model.remove("text_encoder");
    model.remove("tokenizer");
    const auto said = error_of(ErrorKind::usage, model.path());
    EXPECT_TRUE(contains(said, "prompt: ") && contains(said, "no tokenizer and no text_encoder")) << said;

    CallArguments embeds = apple();
    embeds.prompt = {};
    embeds.prompt_embeds = recorded.at("prompt_embeds");
    embeds.prompt_attention_mask = recorded.at("prompt_attention_mask");
    const auto half = error_of(ErrorKind::usage, model.path(), embeds);
    EXPECT_TRUE(contains(half, "negative_prompt: ") && contains(half, "negative_prompt_embeds")) << half;
    embeds.negative_prompt_embeds = recorded.at("negative_prompt_embeds");
    embeds.negative_prompt_attention_mask = recorded.at("negative_prompt_attention_mask");
    EXPECT_EQ(test::max_difference(draw(model.path(), embeds), draw_plain()), 0.0);
    EXPECT_EQ(open(model.path()).components().size(), 2u);
    EXPECT_GT(open(model.path()).memory_needed(apple()), 0u);
  }
}

TEST(ModelFolder, SaysThatBinningDrawsAnotherSize) {
  const ModelCopy model(kAlpha);
  model.edit("transformer/config.json", [](Json& j) {
    j["sample_size"] = 32;  // has a table, of sizes about 256
    j["use_additional_conditions"] = true;
  });
  CallArguments binned = apple(1);
  binned.use_resolution_binning = true;
  const auto lines = [&](const CallArguments& arguments) {
    const Messages messages(log::Level::info);
    try {
      static_cast<void>(draw(model.path(), arguments));
    } catch (const Error&) {  // no resolution for this sample_size: the message comes before
    }
    return messages.with("--no-resolution-binning");
  };
  ASSERT_EQ(lines(binned).size(), 1u);
  EXPECT_TRUE(contains(lines(binned)[0], "64×64 is drawn at 256×256"));
  binned.height = binned.width = 256;
  EXPECT_TRUE(lines(binned).empty());
  binned.use_resolution_binning = false;
  EXPECT_TRUE(lines(binned).empty());
}

// act_fn is the resnet blocks' alone; the last activation is SiLU whatever it says.
TEST(ModelFolder, TheAutoencodersActivation) {
  const ModelCopy model(kAlpha);
  model.edit("vae/config.json", [](Json& j) { j["act_fn"] = "SWISH"; });
  EXPECT_EQ(test::max_difference(draw(model.path()), draw_plain()), 0.0);
  model.edit("vae/config.json", [](Json& j) { j["act_fn"] = "relu"; });
  CallArguments arguments = apple();
  const auto graph = open(model.path()).component_graph("vae", arguments);
  int relus = 0, silus = 0;
  for (const auto& node : graph.nodes)
    if (const auto* unary = std::get_if<graph::op::Unary>(&node.op)) {
      relus += unary->kind == graph::op::UnaryKind::relu ? 1 : 0;
      silus += unary->kind == graph::op::UnaryKind::silu ? 1 : 0;
    }
  EXPECT_EQ(silus, 1);
  EXPECT_EQ(relus, 2 * (2 + 4 * 2));  // two a block: mid 2, four levels of 2
}

}  // namespace
}  // namespace perfuse
