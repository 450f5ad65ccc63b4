// Reading JSON that people and other programs wrote: model configurations, request files.
//
// A ConfigReader hands out fields with their type checked; every error names the file and the field
// ("transformer/config.json: num_layers: expected an integer from 1 to 10000, found \"28\"").
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

using Json = nlohmann::ordered_json;

// Parses `text`; `origin` (a file name) begins every message. Bare -Infinity, Infinity and NaN, which
// Python's json writes, are read as numbers. Refused, with line and column: anything else that is
// not JSON, a duplicate key, more than 200 levels, invalid UTF-8.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& origin);

// The same for a regular file of at most `most_bytes`.
[[nodiscard]] Json read_json(const std::filesystem::path& file, std::size_t most_bytes = 64u << 20);

class ConfigReader {
 public:
  // `origin` names the file in messages; `json` must be an object (else Error(model)).
  ConfigReader(Json json, std::string origin);
  // Reads the file.
  explicit ConfigReader(const std::filesystem::path& file);

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] const Json& json() const { return json_; }
  // Present, and not null.
  [[nodiscard]] bool has(std::string_view key) const;
  // Present, and null: what Python's None says where the default is something else.
  [[nodiscard]] bool is_null(std::string_view key) const;

  // Without a fallback an absent (or null) field is an Error(model). Values outside least…most are too.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most,
                                     std::optional<std::int64_t> fallback = std::nullopt) const;
  // Finite unless `allow_infinite`; integers are taken as numbers.
  [[nodiscard]] double number(std::string_view key, std::optional<double> fallback = std::nullopt,
                              bool allow_infinite = false) const;
  [[nodiscard]] bool boolean(std::string_view key, std::optional<bool> fallback = std::nullopt) const;
  [[nodiscard]] std::string string(std::string_view key,
                                   std::optional<std::string> fallback = std::nullopt) const;
  // One of `allowed`; the message lists them.
  [[nodiscard]] std::string choice(std::string_view key, std::initializer_list<std::string_view> allowed,
                                   std::optional<std::string> fallback = std::nullopt) const;
  [[nodiscard]] std::vector<std::int64_t> integers(
      std::string_view key, std::int64_t least, std::int64_t most,
      std::optional<std::vector<std::int64_t>> fallback = std::nullopt) const;
  [[nodiscard]] std::vector<double> numbers(std::string_view key,
                                            std::optional<std::vector<double>> fallback = std::nullopt) const;
  [[nodiscard]] std::vector<std::string> strings(
      std::string_view key, std::optional<std::vector<std::string>> fallback = std::nullopt) const;
  // A nested object; its messages name "key.inner".
  [[nodiscard]] ConfigReader object(std::string_view key) const;

  // For what diffusers or transformers obey and perfuse doesn't have: Error(unsupported) with field and value, unless it is
  // absent, null or one of `harmless`. `why` ends the message.
  void refuse_unless(std::string_view key, std::initializer_list<Json> harmless, std::string_view why) const;

  // Warns of the fields that no call above has asked for, unless they are null, start with "_" or are among
  // `without_effect`: whoever wrote them expects something of them. Those that are among them are named at level debug.
  void report_unread(std::initializer_list<std::string_view> without_effect = {}) const;

  // Error(kind model) in this reader's form: "ORIGIN: KEY: MESSAGE".
  [[noreturn]] void fail_field(std::string_view key, std::string_view message) const;

 private:
  const Json* find(std::string_view key) const;

  Json json_;
  std::string origin_;
  std::string prefix_;  // "inner." within a nested object
  mutable std::set<std::string, std::less<>> asked_;
};

// A short quote of a JSON value for a message: at most 60 characters, cut at a character's end.
[[nodiscard]] std::string brief(const Json& value);

}  // namespace perfuse
