// docs/configuration.md, tried: each value that it calls refused is, by name; each field that it calls without effect is named
// at --verbose and changes nothing; each field that the class or the tests' models have is in it.
#include <fmt/format.h>

#include <fstream>

#include "perfuse/core/text.h"
#include "perfuse/perfuse.h"
#include "perfuse/schedulers/scheduler.h"
#include "tests/support/model_copy.h"

namespace perfuse {
namespace {

struct Row {
  std::string key, kind, refused;
};
struct Section {
  std::string class_name, file;
  std::vector<Row> rows;
  [[nodiscard]] bool has(const std::string& key) const {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.key == key; });
  }
};

std::string without_ticks(std::string cell) {
  const auto first = cell.find_first_not_of(" `"), last = cell.find_last_not_of(" `");
  return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

std::vector<Section> read_tables() {
  std::vector<Section> sections;
  std::ifstream in(std::filesystem::path(PERFUSE_SOURCE_DIR) / "docs/configuration.md");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) {
      const auto colon = line.find(':'), comma = line.find(',');
      sections.push_back(
          {line.substr(3, std::min(colon, comma) - 3), without_ticks(line.substr(colon + 1)), {}});
    } else if (line.starts_with("| `")) {
      std::vector<std::string> cells;
      for (std::size_t at = 1, next = 0; (next = line.find('|', at)) != std::string::npos; at = next + 1)
        cells.push_back(without_ticks(line.substr(at, next - at)));
      sections.back().rows.push_back({cells.at(0), cells.at(1), cells.at(2)});
    }
  }
  return sections;
}

class ConfigurationTable : public ::testing::TestWithParam<Section> {
 protected:
  ConfigurationTable() : model_("tiny-pixart-alpha") {
    if (GetParam().file.starts_with("scheduler/"))
      model_.edit("model_index.json", [](Json& j) { j["scheduler"] = {"diffusers", GetParam().class_name}; });
    original_ = read_json(model_.path() / GetParam().file);
  }
  void open_with(const std::string& key, const Json& value) const {
    model_.edit(GetParam().file, [&](Json& j) {
      j = original_;
      j[key] = value;
    });
    static_cast<void>(AutoPipelineForText2Image::from_pretrained(model_.path()));
  }

  test::ModelCopy model_;
  Json original_;
};

TEST_P(ConfigurationTable, SaysWhatHappens) {
  ASSERT_FALSE(GetParam().rows.empty());
  for (const auto& row : GetParam().rows) {
    SCOPED_TRACE(row.key);
    if (row.kind == "without effect") {
      const test::Messages messages(log::Level::debug);
      open_with(row.key, Json::object({{"not", "read"}}));
      std::size_t named = 0;
      for (const auto& line : messages.with("without effect"))
        named += line.find(GetParam().file) != std::string::npos && line.find(row.key) != std::string::npos &&
                         line.find("not known") == std::string::npos
                     ? 1
                     : 0;
      EXPECT_EQ(named, 1u);
      continue;
    }
    ASSERT_TRUE(row.kind == "obeyed" || row.kind == "refused") << row.kind;
    ASSERT_FALSE(row.refused.empty());
    const Json value = parse_json(row.refused, "docs/configuration.md");
    const Error error = test::error_of([&] { open_with(row.key, value); });
    EXPECT_TRUE(test::contains(error.what(), GetParam().file + ": "));
    EXPECT_TRUE(test::contains(error.what(), row.key));
    if (row.kind != "refused") continue;
    EXPECT_EQ(to_string(error.kind()), to_string(ErrorKind::unsupported)) << error.what();
    EXPECT_TRUE(
        test::contains(error.what(), value.is_string() ? quote(value.get<std::string>()) : brief(value)));
  }
}

TEST_P(ConfigurationTable, HasTheFieldsOfTheTestsModels) {
  for (const auto* name : {"models/tiny-pixart-alpha", "models/tiny-pixart-sigma"}) {
    const auto file = test::data_folder() / name / GetParam().file;
    if (!std::filesystem::exists(file)) continue;
    const Json json = read_json(file);
    if (json.value("_class_name", GetParam().class_name) != GetParam().class_name) continue;
    for (const auto& [key, value] : json.items())
      EXPECT_TRUE(key.starts_with("_") || GetParam().has(key)) << file << ": " << key;
  }
}

TEST(ConfigurationTables, HaveEverySchedulerAndItsFields) {
  const auto sections = read_tables();
  for (const auto& name : scheduler_names()) {
    const auto section = std::ranges::find(sections, name, &Section::class_name);
    ASSERT_NE(section, sections.end()) << name;
    const auto scheduler = make_scheduler(ConfigReader(Json::object(), "scheduler_config.json"), name);
    const Json config = scheduler->config();
    for (const auto& [key, value] : config.items())
      EXPECT_TRUE(key.starts_with("_") || section->has(key)) << name << ": " << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, ConfigurationTable, ::testing::ValuesIn(read_tables()),
                         [](const auto& row) { return row.param.class_name; });

}  // namespace
}  // namespace perfuse
