#include "perfuse/pipelines/model_index.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/json.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"
#include "perfuse/pipelines/hub_cache.h"

namespace perfuse {

namespace fs = std::filesystem;

ModelIndex ModelIndex::read(const fs::path& wanted) {
  const fs::path folder = resolve_model_folder(wanted);
  std::error_code code;
  const auto status = fs::status(folder, code);
  if (!fs::exists(status))
    fail(ErrorKind::model, "{}: no such model folder{}", display(folder),
         broken_link_target(folder)
             ? ": a link to " + display(*broken_link_target(folder)) + ", which does not exist"
         : code && code.value() != ENOENT ? " (" + code.message() + ")"
                                          : "");
  if (!fs::is_directory(status))
    fail(ErrorKind::model,
         "{}: not a folder; a model is the folder that save_pretrained writes, with a model_index.json",
         folder.string());
  const fs::path file = folder / "model_index.json";
  if (!fs::exists(fs::symlink_status(file, code))) {
    if (const auto advice = incomplete_download(folder, "model_index.json"); !advice.empty())
      fail(ErrorKind::model, "{}: has no model_index.json: {}", display(folder), advice);
    fail(ErrorKind::model, "{}: has no model_index.json; a model is the folder that save_pretrained writes",
         folder.string());
  }

  const ConfigReader config(file);
  ModelIndex index;
  index.folder = folder;
  index.class_name = config.string("_class_name");
  for (const auto& [key, value] : config.json().items()) {
    if (key.starts_with("_")) continue;
    const bool null = value.is_null() || value == Json::array({nullptr, nullptr});
    if (!null && !value.is_array()) continue;  // a setting of the pipeline
    if (!null && (value.size() != 2 || !value[0].is_string() || !value[1].is_string()))
      config.fail_field(key, fmt::format("expected [\"library\", \"class\"], found {}", brief(value)));
    index.entries.push_back({key, null ? "" : value[1].get<std::string>()});
  }
  return index;
}

std::string ModelIndex::file() const { return (folder / "model_index.json").string(); }

bool ModelIndex::has(const std::string& name) const {
  return std::ranges::any_of(
      entries, [&](const Entry& entry) { return entry.name == name && !entry.class_name.empty(); });
}

std::string ModelIndex::download_advice() const {
  for (const auto& entry : entries)
    if (!entry.class_name.empty())
      if (auto advice = incomplete_download(folder, entry.name); !advice.empty()) return advice;
  return "";
}

const std::string& ModelIndex::component_class(const std::string& name) const {
  const auto entry = std::ranges::find(entries, name, &Entry::name);
  if (entry == entries.end() || entry->class_name.empty())
    fail(ErrorKind::model, "{}: component {} is {}, {} needs one", file(), name,
         entry == entries.end() ? "missing" : "null", class_name);
  return entry->class_name;
}

fs::path ModelIndex::component(const std::string& name, const std::vector<std::string>& classes) const {
  const auto& own = component_class(name);
  if (std::ranges::find(classes, own) == classes.end())
    fail(ErrorKind::unsupported, "{}: component {}: class {}; perfuse knows {}", file(), name, quote(own),
         fmt::join(classes, ", "));
  return folder / name;
}

void ModelIndex::report_unused(const std::vector<std::string>& used) const {
  std::vector<std::string> unused;
  for (const auto& entry : entries)
    if (!entry.class_name.empty() && std::ranges::find(used, entry.name) == used.end())
      unused.push_back(fmt::format("{} ({})", entry.name, entry.class_name));
  if (!unused.empty())
    log::warning("{}: {} does without these components: {}", file(), class_name, fmt::join(unused, ", "));
}

}  // namespace perfuse
