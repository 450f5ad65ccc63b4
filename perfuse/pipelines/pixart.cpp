#include "perfuse/pipelines/pixart.h"

#include "perfuse/core/error.h"
#include "perfuse/pipelines/pixart_pipeline.h"

namespace perfuse {
namespace {

constexpr PixArtTraits kAlpha{"PixArtAlphaPipeline", 120, true, true};
constexpr PixArtTraits kSigma{"PixArtSigmaPipeline", 300, false, false};

template <const PixArtTraits& traits>
std::shared_ptr<PipelineImplementation> make(ModelIndex index, const LoadOptions& options) {
  return std::make_shared<PixArtPipeline>(std::move(index), options, traits);
}

const RegisterPipeline registered_alpha(kAlpha.class_name, make<kAlpha>);
const RegisterPipeline registered_sigma(kSigma.class_name, make<kSigma>);

// As in diffusers, a folder may be loaded by a class that is not the one it names, if its components fit.
template <const PixArtTraits& traits>
DiffusionPipeline load(const std::filesystem::path& folder, const LoadOptions& options) {
  ModelIndex index = ModelIndex::read(folder);
  index.class_name = traits.class_name;
  return make_pipeline(std::move(index), options, make<traits>);
}

}  // namespace

DiffusionPipeline PixArtAlphaPipeline::from_pretrained(const std::filesystem::path& folder,
                                                       const LoadOptions& options) {
  return load<kAlpha>(folder, options);
}

DiffusionPipeline PixArtSigmaPipeline::from_pretrained(const std::filesystem::path& folder,
                                                       const LoadOptions& options) {
  return load<kSigma>(folder, options);
}

}  // namespace perfuse
