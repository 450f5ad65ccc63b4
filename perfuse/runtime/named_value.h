// A name with a value of one of the five types that PJRT knows: a client's option (--pjrt-option), a plugin's
// attribute.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace perfuse {

struct NamedValue {
  using Value = std::variant<bool, std::int64_t, float, std::string, std::vector<std::int64_t>>;
  std::string name;
  Value value;
  friend bool operator==(const NamedValue&, const NamedValue&) = default;
};

// "NAME=VALUE": true and false are booleans, 12 is an integer, 0.5 a float, [0,1] a list of integers, all else a
// string; "12" in double quotes is one too. Error(usage) that begins with `option`.
[[nodiscard]] NamedValue parse_named_value(std::string_view option, std::string_view text);
// The inverse.
[[nodiscard]] std::string to_string(const NamedValue& named);

}  // namespace perfuse
