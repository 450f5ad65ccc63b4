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

Shape shape_of(const Recipe& recipe, const Shape& wanted) {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds)
      fail(ErrorKind::usage, "recipe of {}: {}",
           recipe.sources.empty() ? "nothing" : fmt::format("{}", fmt::join(recipe.sources[0].keys, " or ")),
           what);
  };
  require(!recipe.sources.empty(), "no source");
  Shape result;
  for (const auto& source : recipe.sources) {
    require(!source.keys.empty(), "a source without a key");
    Shape part = source.shape;
    const auto axis = static_cast<std::size_t>(recipe.concat_axis);
    if (source.slice) {
      const auto& [sliced, begin, end] = *source.slice;
      require(sliced >= 0 && static_cast<std::size_t>(sliced) < part.size(),
              "a slice along an axis that is not there");
      auto& size = part[static_cast<std::size_t>(sliced)];
      require(begin >= 0 && begin < end && end <= size, "a slice beyond the source");
      size = end - begin;
    }
    if (result.empty()) {
      result = std::move(part);
      continue;
    }
    require(recipe.concat_axis >= 0 && axis < result.size() && part.size() == result.size(),
            "parts of different ranks");
    result[axis] += part[axis];
    part[axis] = result[axis];
    require(part == result, "parts that differ in another axis than the one they are joined along");
  }
  if (!recipe.permutation.empty()) {
    require(recipe.permutation.size() == result.size(), "a permutation of another rank");
    Shape permuted;
    std::vector<bool> seen(result.size(), false);
    for (const int axis : recipe.permutation) {
      const auto a = static_cast<std::size_t>(axis);
      require(axis >= 0 && a < result.size() && !seen[a], "a permutation that is none");
      seen[a] = true;
      permuted.push_back(result[a]);
    }
    result = std::move(permuted);
  }
  require(
      result == wanted || (recipe.reshape && numel(result) == numel(wanted)),
      fmt::format("makes {}, the parameter is {}", perfuse::to_string(result), perfuse::to_string(wanted)));
  return wanted;
}

Tensor materialize(const Recipe& recipe, const WeightFiles& weights, const Shape& shape, DType dtype) {
  std::vector<Tensor> parts;
  for (const auto& source : recipe.sources) {
    Tensor part = weights.tensor(*find_key(source, weights));
    if (part.shape() != source.shape) part = part.reshape(source.shape);
    if (source.slice) part = part.slice(source.slice->axis, source.slice->begin, source.slice->end);
    parts.push_back(part.to(dtype));
  }
  Tensor result = parts.size() == 1 ? std::move(parts[0]) : concat(parts, recipe.concat_axis);
  if (!recipe.permutation.empty()) result = result.permute(recipe.permutation);
  return result.shape() == shape ? result : result.reshape(shape);
}

}  // namespace perfuse::graph
