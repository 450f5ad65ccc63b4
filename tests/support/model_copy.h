// A model folder of the tests' data with changes: weights are links, the other files copies.
#pragma once

#include <functional>

#include "perfuse/core/json.h"
#include "perfuse/core/log.h"
#include "tests/support/golden.h"
#include "tests/support/scratch.h"

namespace perfuse::test {

class ModelCopy {
 public:
  // `name`: "tiny-pixart-alpha".
  explicit ModelCopy(const std::string& name) {
    namespace fs = std::filesystem;
    const fs::path source = data_folder() / "models" / name;
    for (const auto& entry : fs::recursive_directory_iterator(source)) {
      const fs::path copy = path() / fs::relative(entry.path(), source);
      if (entry.is_directory())
        fs::create_directories(copy);
      else if (entry.path().extension() == ".safetensors")
        fs::create_symlink(fs::absolute(entry.path()), copy);
      else
        fs::copy_file(entry.path(), copy);
    }
  }
  [[nodiscard]] const std::filesystem::path& path() const { return scratch_.path(); }

  // Changes a JSON file of the copy.
  void edit(const std::string& file, const std::function<void(Json&)>& change) const {
    Json json = read_json(path() / file);
    change(json);
    scratch_.write(file, json.dump(2));
  }
  void remove(const std::string& file) const { std::filesystem::remove_all(path() / file); }
  void write(const std::string& file, std::string_view content) const { scratch_.write(file, content); }

 private:
  ScratchFolder scratch_;
};

// Messages of these levels and above while it lives.
class Messages {
 public:
  explicit Messages(log::Level least = log::Level::warning) : before_(log::level()) {
    log::set_level(least);
    log::set_sink([this](log::Level, std::string_view message) { lines.emplace_back(message); });
  }
  ~Messages() {
    log::set_sink({});
    log::set_level(before_);
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  // Those that hold `part`.
  [[nodiscard]] std::vector<std::string> with(std::string_view part) const {
    std::vector<std::string> found;
    for (const auto& line : lines)
      if (line.find(part) != std::string::npos) found.push_back(line);
    return found;
  }
  std::vector<std::string> lines;

 private:
  log::Level before_;
};

}  // namespace perfuse::test
