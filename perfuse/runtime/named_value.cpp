#include "perfuse/runtime/named_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

template <class T> std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> integer_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> list;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto value = number<std::int64_t>(text.substr(0, comma));
    if (!value || comma == text.size() - 1) return std::nullopt;
    list.push_back(*value);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return list;
}

NamedValue::Value parse_value(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  if (const auto integer = number<std::int64_t>(text)) return *integer;
  if (const auto real = number<float>(text); real && std::isfinite(*real)) return *real;
  if (auto list = integer_list(text)) return std::move(*list);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return std::string(text);
}

std::string print(bool value) { return value ? "true" : "false"; }
std::string print(std::int64_t value) { return fmt::format("{}", value); }
std::string print(float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}
std::string print(const std::vector<std::int64_t>& value) {
  return fmt::format("[{}]", fmt::join(value, ","));
}
std::string print(const std::string& value) {
  // Quoted where it would be read as another type, or lose quotes of its own.
  const auto plain = parse_value(value);
  const auto* text = std::get_if<std::string>(&plain);
  return text != nullptr && *text == value ? value : '"' + value + '"';
}

}  // namespace

NamedValue parse_named_value(std::string_view option, std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    fail(ErrorKind::usage, "{}: expected NAME=VALUE, found {}", option, quote(text));
  return {std::string(text.substr(0, equals)), parse_value(text.substr(equals + 1))};
}

std::string to_string(const NamedValue& named) {
  return named.name + '=' + std::visit([](const auto& value) { return print(value); }, named.value);
}

}  // namespace perfuse
