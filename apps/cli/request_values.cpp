#include "apps/cli/request_values.h"

#include <limits>

namespace perfuse::cli {
namespace {

std::int64_t read_integer(const Json& json, const Place& place, std::int64_t least, std::int64_t most) {
  if (!json.is_number_integer()) place.expected("an integer", json);
  // An unsigned value over 2^63 would turn negative.
  const bool too_large =
      json.is_number_unsigned() && json.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (too_large || json.get<std::int64_t>() < least || json.get<std::int64_t>() > most)
    place.expected(fmt::format("an integer from {} to {}", least, most), json);
  return json.get<std::int64_t>();
}

template <class T> std::vector<T> read_list(const Json& json, const Place& place) {
  if (json.empty()) place.expected("at least one value in the list", json);
  std::vector<T> values(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string element = fmt::format("{}[{}]", place.field, i);
    read_value(json[i], Place{place.origin, element}, values[i]);
  }
  return values;
}

template <class T> void read_one_or_many(const Json& json, const Place& place, OneOrMany<T>& value) {
  if (json.is_array()) {
    value = OneOrMany<T>(read_list<T>(json, place));
    return;
  }
  T one{};
  read_value(json, place, one);
  value = OneOrMany<T>(std::move(one));
}

}  // namespace

void read_value(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) place.expected("true or false", json);
  value = json.get<bool>();
}

void read_value(const Json& json, const Place& place, int& value) {
  value = static_cast<int>(
      read_integer(json, place, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

void read_value(const Json& json, const Place& place, std::int64_t& value) {
  value = read_integer(json, place, std::numeric_limits<std::int64_t>::min(),
                       std::numeric_limits<std::int64_t>::max());
}

void read_value(const Json& json, const Place& place, std::uint64_t& value) {
  if (!json.is_number_unsigned() && !(json.is_number_integer() && json.get<std::int64_t>() >= 0))
    place.expected("an integer from 0 to 18446744073709551615 (64 bits)", json);
  value = json.get<std::uint64_t>();
}

void read_value(const Json& json, const Place& place, double& value) {
  if (!json.is_number()) place.expected("a number", json);
  value = json.get<double>();
}

void read_value(const Json& json, const Place& place, std::string& value) {
  if (!json.is_string()) place.expected("a string", json);
  value = json.get<std::string>();
}

void read_value(const Json& json, const Place& place, std::vector<double>& value) {
  if (!json.is_array()) place.expected("a list of numbers", json);
  value = read_list<double>(json, place);
}

void read_value(const Json& json, const Place& place, OneOrMany<std::string>& value) {
  if (!json.is_string() && !json.is_array()) place.expected("a string or a list of strings", json);
  read_one_or_many(json, place, value);
}

void read_value(const Json& json, const Place& place, OneOrMany<std::uint64_t>& value) {
  read_one_or_many(json, place, value);
}

void read_value(const Json& json, const Place& place, SchedulerChoice& value) {
  if (json.is_string()) {
    value.class_name = json.get<std::string>();
    return;
  }
  if (!json.is_object())
    place.expected("a class name or {\"class\": …, and config fields to override}", json);
  value.config = json;
  if (const auto found = json.find("class"); found != json.end()) {
    if (!found->is_null()) read_value(*found, Place{place.origin, "scheduler.class"}, value.class_name);
    value.config.erase("class");
  }
}

void read_value(const Json& json, const Place& place, TensorReference& value) {
  constexpr std::string_view kForm = R"({"file": "NAME.safetensors", "key": "TENSOR"})";
  if (!json.is_object() || !json.contains("file")) place.expected(kForm, json);
  for (const auto& [name, part] : json.items()) {
    if ((name != "file" && name != "key") || !part.is_string()) place.expected(kForm, json);
    (name == "file" ? value.file : value.key) = part.get<std::string>();
  }
}

Json write_value(const SchedulerChoice& value) {
  Json json = Json::object();
  if (!value.class_name.empty()) json["class"] = value.class_name;
  json.update(value.config);
  return json;
}

Json write_value(const TensorReference& value) {
  Json json{{"file", value.file}};
  if (!value.key.empty()) json["key"] = value.key;
  return json;
}

}  // namespace perfuse::cli
