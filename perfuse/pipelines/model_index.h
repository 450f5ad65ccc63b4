// model_index.json: the class of a pipeline folder and of its components.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace perfuse {

struct ModelIndex {
  struct Entry {
    std::string name;        // "transformer": a sub-folder
    std::string class_name;  // "PixArtTransformer2DModel"; "" where the component is null
  };
  std::filesystem::path folder;
  std::string class_name;
  std::vector<Entry> entries;

  // `wanted` as resolve_model_folder takes it. Error(model) for a missing folder or file, broken JSON or entries of
  // another form.
  [[nodiscard]] static ModelIndex read(const std::filesystem::path& wanted);

  // What incomplete_download says of the folder and its components, for the end of a message; mostly "".
  [[nodiscard]] std::string download_advice() const;

  // False where the component is absent or null.
  [[nodiscard]] bool has(const std::string& name) const;
  // The sub-folder of a component that must be of one of these classes. Error(model) if it is absent or
  // null, Error(unsupported) naming its class and the known ones if it is another.
  [[nodiscard]] std::filesystem::path component(const std::string& name,
                                                const std::vector<std::string>& classes) const;
  // The class that the file gives a component, which must not be absent or null. Error(model) if it is.
  [[nodiscard]] const std::string& component_class(const std::string& name) const;
  // Warns of components that are none of these: the pipeline does without them.
  void report_unused(const std::vector<std::string>& used) const;
  // model_index.json, for messages.
  [[nodiscard]] std::string file() const;
};

}  // namespace perfuse
