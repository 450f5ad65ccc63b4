// Every recorded module of PixArt: its output and the outputs of its inner modules, through taps.
#include "perfuse/models/autoencoder_kl.h"
#include "perfuse/models/pixart_transformer_2d.h"
#include "perfuse/models/t5_encoder.h"
#include "tests/support/golden.h"

namespace perfuse {
namespace {

using test::Golden;

// NHWC of a graph to the NCHW of files.
Tensor as_stored(const Tensor& tensor) { return tensor.rank() == 4 ? nhwc_to_nchw(tensor) : tensor; }

class ModuleGolden : public ::testing::TestWithParam<graph::Granularity> {
 protected:
  ModelOptions options() const { return {context_, DType::f32, {.granularity = GetParam()}, ""}; }

  // The module paths that the golden has, as taps.
  static runtime::RunOptions taps_of(const Golden& golden) {
    runtime::RunOptions options;
    for (const auto& name : golden.tensors.names())
      if (name.starts_with("act.")) options.taps.push_back(name.substr(4));
    return options;
  }
  void check(const Golden& golden, const runtime::RunOptions& options,
             const runtime::NamedBuffers& outputs) const {
    int compared = 0;
    for (const auto& path : options.taps) {
      EXPECT_TRUE(test::near_golden(as_stored(context_->download(outputs.at(path))), golden, "act." + path));
      ++compared;
    }
    for (const auto& name : golden.tensors.names()) {
      if (!name.starts_with("out.")) continue;
      EXPECT_TRUE(test::near_golden(as_stored(context_->download(outputs.at(name.substr(4)))), golden, name));
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }
  void t5(const std::string& variant) const {
    const Golden golden = Golden::open("modules/t5_encoder_" + variant);
    const T5EncoderModel model(test::data_folder() / "models" / ("tiny-pixart-" + variant) / "text_encoder",
                               options());
    const auto taps = taps_of(golden);
    check(golden, taps,
          model.run(golden["in.input_ids"].to(DType::i32), golden["in.attention_mask"].to(DType::i32), taps));
  }
  void transformer(const std::string& variant) const {
    const Golden golden = Golden::open("modules/pixart_transformer_" + variant);
    const PixArtTransformer2DModel model(
        test::data_folder() / "models" / ("tiny-pixart-" + variant) / "transformer", options());
    const Tensor latents = golden["in.hidden_states"], text = golden["in.encoder_hidden_states"];
    const PixArtTransformer2DModel::Sizes sizes{latents.dim(0), latents.dim(2), latents.dim(3), text.dim(1)};
    PixArtTransformer2DModel::Conditions conditions{
        context_->upload(text), golden["in.encoder_attention_mask"].to(DType::i32), {}, {}};
    if (golden.has("in.resolution")) {
      conditions.resolution = golden["in.resolution"];
      conditions.aspect_ratio = golden["in.aspect_ratio"];
    }
    const auto taps = taps_of(golden);
    check(golden, taps,
          model.run(sizes, model.prepare(sizes, conditions), context_->upload(nchw_to_nhwc(latents)),
                    context_->upload(golden["in.timestep"].to(DType::f32)), taps));
  }
  void decode(const std::string& name) const {
    const Golden golden = Golden::open("modules/" + name);
    const AutoencoderKL model(test::data_folder() / "models/tiny-sdxl/vae", options());
    const auto taps = taps_of(golden);
    check(golden, taps, model.decode(context_->upload(nchw_to_nhwc(golden["in.z"])), taps));
  }
  void encode(const std::string& name) const {
    const Golden golden = Golden::open("modules/" + name);
    const AutoencoderKL model(test::data_folder() / "models/tiny-sdxl/vae", options());
    const auto taps = taps_of(golden);
    check(golden, taps, model.encode(context_->upload(nchw_to_nhwc(golden["in.x"])), taps));
  }

  std::shared_ptr<runtime::DeviceContext> context_ = std::make_shared<runtime::DeviceContext>(Device("cpu"));
};

TEST_P(ModuleGolden, T5EncoderAlpha) { t5("alpha"); }
TEST_P(ModuleGolden, T5EncoderSigma) { t5("sigma"); }
TEST_P(ModuleGolden, PixArtTransformerAlpha) { transformer("alpha"); }
TEST_P(ModuleGolden, PixArtTransformerSigma) { transformer("sigma"); }
TEST_P(ModuleGolden, AutoencoderKLDecode) { decode("autoencoder_kl_decode"); }
TEST_P(ModuleGolden, AutoencoderKLDecodeOfABatch) { decode("autoencoder_kl_decode_sliced"); }
TEST_P(ModuleGolden, AutoencoderKLEncode) { encode("autoencoder_kl_encode"); }
TEST_P(ModuleGolden, AutoencoderKLEncodeOfABatch) { encode("autoencoder_kl_encode_sliced"); }

std::string granularity_name(const ::testing::TestParamInfo<graph::Granularity>& tested) {
  return std::string(graph::to_string(tested.param));
}

// `Full` tests run with ./run-tests --full.
INSTANTIATE_TEST_SUITE_P(, ModuleGolden, ::testing::Values(graph::Granularity::block), granularity_name);
INSTANTIATE_TEST_SUITE_P(Full, ModuleGolden,
                         ::testing::Values(graph::Granularity::op, graph::Granularity::whole),
                         granularity_name);

}  // namespace
}  // namespace perfuse
