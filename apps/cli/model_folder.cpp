#include "apps/cli/model_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <system_error>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"
#include "perfuse/pipelines/hub_cache.h"

namespace perfuse::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::string what_is_wrong(const fs::path& path) {
  if (const auto target = broken_link_target(path))
    return fmt::format("a link to {}, which does not exist", display(*target));
  std::error_code error;
  return fs::exists(path, error) ? "not a folder" : "no such folder";
}

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

}  // namespace

std::vector<fs::path> model_places(const fs::path& program_folder) {
  std::vector<fs::path> places{program_folder.parent_path() / "share/perfuse/models"};
  // build/release/bin/perfuse lies three folders deep.
  fs::path above = program_folder;
  for (int i = 0; i < 3; ++i) {
    above = above.parent_path();
    places.push_back(above / "models");
  }
  return places;
}

ModelFolder find_model(const std::string& wanted) {
  std::string name = wanted;
  std::string_view source = "--model";
  if (const char* from_environment = std::getenv("PERFUSE_MODEL");
      name.empty() && from_environment != nullptr && *from_environment != '\0') {
    name = from_environment;
    source = "PERFUSE_MODEL";
  }
  if (name.empty()) name = kDefaultModel;
  const fs::path path(name);
  std::error_code error;
  if (is_folder(path)) {
    fs::path folder = resolve_model_folder(path);
    return {folder, fs::weakly_canonical(fs::absolute(folder), error).string()};
  }
  const bool exists = fs::exists(fs::symlink_status(path, error));
  if (!exists && parse_hub_name(name)) {
    fs::path folder = resolve_model_folder(path);
    const auto found = hub_name_of(folder);
    return {folder, found ? found->repository + '@' + found->revision : name};
  }
  if (path.has_parent_path() || exists)
    fail(ErrorKind::io, "{} {}: {}; expected a model folder as save_pretrained writes it, or ORG/NAME",
         source, quote(name, 200), what_is_wrong(path));
  const auto places = model_places(program_folder());
  for (const auto& place : places)
    if (is_folder(place / path)) return {place / path, name};
  std::vector<std::string> looked;
  looked.reserve(places.size());
  for (const auto& place : places) looked.push_back(place.string());
  fail(ErrorKind::io, "{} {}: no such folder, and no model of that name in {}", source, quote(name, 200),
       fmt::join(looked, ", "));
}

}  // namespace perfuse::cli
