// JSON <-> the types of Request's fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/request.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {

// Where a value stands: begins every message.
struct Place {
  std::string_view origin, field;

  [[noreturn]] void expected(std::string_view what, const Json& found) const {
    fail(ErrorKind::usage, "{}: {}: expected {}, found {}", origin, field, what, brief(found));
  }
};

void read_value(const Json& json, const Place& place, bool& value);
void read_value(const Json& json, const Place& place, int& value);
void read_value(const Json& json, const Place& place, std::int64_t& value);
void read_value(const Json& json, const Place& place, std::uint64_t& value);
void read_value(const Json& json, const Place& place, double& value);
void read_value(const Json& json, const Place& place, std::string& value);
void read_value(const Json& json, const Place& place, std::vector<double>& value);
void read_value(const Json& json, const Place& place, OneOrMany<std::string>& value);
void read_value(const Json& json, const Place& place, OneOrMany<std::uint64_t>& value);
void read_value(const Json& json, const Place& place, SchedulerChoice& value);
void read_value(const Json& json, const Place& place, TensorReference& value);

template <class T> Json write_value(const T& value) { return value; }
template <class T> Json write_value(const OneOrMany<T>& value) {
  return value.is_list() ? Json(value.values()) : Json(value.values().front());
}
Json write_value(const SchedulerChoice& value);
Json write_value(const TensorReference& value);

}  // namespace perfuse::cli
