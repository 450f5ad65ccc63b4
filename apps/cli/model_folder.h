#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse::cli {

inline constexpr std::string_view kDefaultModel = "emoji-pixart";

struct ModelFolder {
  std::filesystem::path folder;
  // What finds it again from any folder: the name of a model that comes with perfuse, ORG/NAME@COMMIT in the hub's
  // cache, or an absolute path.
  std::string recorded;
};

// `wanted` is a folder, ORG/NAME[@REVISION] in the hub's cache (perfuse/pipelines/hub_cache.h), or the name of a model
// that comes with perfuse; "" is $PERFUSE_MODEL, or else the default model. Error(io or model) where nothing is there,
// saying where was looked.
[[nodiscard]] ModelFolder find_model(const std::string& wanted);

// Where models that come with perfuse may lie, seen from the folder the program is in: beside an installation
// (../share/perfuse/models), in the source tree of a build (../../../models).
[[nodiscard]] std::vector<std::filesystem::path> model_places(const std::filesystem::path& program_folder);

}  // namespace perfuse::cli
