#include "perfuse/graph/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "perfuse/core/error.h"

namespace perfuse::graph {
namespace {

// The first of the alternatives that the files have.
const std::string* find_key(const Recipe::Source& source, const WeightFiles& weights) {
  for (const auto& key : source.keys)
    if (weights.find(key)) return &key;
  return nullptr;
}

}  // namespace

Recipe stored_as(std::vector<std::string> keys, Shape shape) {
  Recipe recipe;
  recipe.sources.push_back({std::move(keys), std::move(shape), std::nullopt});
  return recipe;
}

Recipe stored_as_oihw(std::vector<std::string> keys, const Shape& ohwi) {
  Recipe recipe = stored_as(std::move(keys), {ohwi.at(0), ohwi.at(3), ohwi.at(1), ohwi.at(2)});
  recipe.permutation = {0, 2, 3, 1};
  return recipe;
}

DType check(const Recipe& recipe, const WeightFiles& weights, std::vector<std::string>& problems) {
  std::optional<DType> common;
  for (const auto& source : recipe.sources) {
    const std::string* key = find_key(source, weights);
    if (key == nullptr) {
      problems.push_back(fmt::format("{} is missing", fmt::join(source.keys, " (or ")) +
                         std::string(source.keys.size() - 1, ')'));
      continue;
    }
    const auto info = weights.find(*key);
    const bool same =
        info->shape == source.shape || (recipe.reshape && numel(info->shape) == numel(source.shape));
    if (!same)
      problems.push_back(fmt::format("{} has shape {}, expected {}", *key, perfuse::to_string(info->shape),
                                     perfuse::to_string(source.shape)));
    if (info->dtype != DType::f32 && info->dtype != DType::bf16 && info->dtype != DType::f16 &&
        info->dtype != DType::f64)
      problems.push_back(fmt::format("{} is {}, expected f32, bf16 or f16", *key, to_string(info->dtype)));
    common = common && *common != info->dtype ? DType::f32 : info->dtype;
  }
  return common.value_or(DType::f32) == DType::f64 ? DType::f32 : common.value_or(DType::f32);
}

Tensor materialize(const Recipe& recipe, const WeightFiles& weights, const Shape& shape, DType dtype) {
  std::vector<Tensor> parts;
  for (const auto& source : recipe.sources) {
    Tensor part = weights.tensor(*find_key(source, weights)).to(dtype);
    if (part.shape() != source.shape) part = part.reshape(source.shape);
    if (source.slice) part = part.slice(source.slice->axis, source.slice->begin, source.slice->end);
    parts.push_back(std::move(part));
  }
  Tensor result = parts.size() == 1 ? std::move(parts[0]) : concat(parts, recipe.concat_axis);
  if (!recipe.permutation.empty()) result = result.permute(recipe.permutation);
  return result.shape() == shape ? result : result.reshape(shape);
}

}  // namespace perfuse::graph
