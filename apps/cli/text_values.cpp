#include "apps/cli/text_values.h"

#include <charconv>
#include <limits>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

template <class T> T parse(std::string_view option, std::string_view text, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && end == text.data() + text.size())
    fail(ErrorKind::usage, "{}: expected {}, found {}, which is out of range", option, what, quote(text));
  if (error != std::errc{} || end != text.data() + text.size())
    fail(ErrorKind::usage, "{}: expected {}, found {}", option, what, quote(text));
  return value;
}

template <class Function> auto parse_list(std::string_view text, Function parse_one) {
  std::vector<decltype(parse_one(text))> values;
  for (std::size_t begin = 0;;) {
    const auto comma = text.find(',', begin);
    values.push_back(parse_one(text.substr(begin, comma == std::string_view::npos ? comma : comma - begin)));
    if (comma == std::string_view::npos) return values;
    begin = comma + 1;
  }
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view text) {
  return parse<std::int64_t>(option, text, "an integer");
}

int parse_int(std::string_view option, std::string_view text) {
  return parse<int>(option, text, "an integer");
}

double parse_number(std::string_view option, std::string_view text) {
  return parse<double>(option, text, "a number");
}

std::vector<double> parse_numbers(std::string_view option, std::string_view text) {
  return parse_list(text, [&](std::string_view one) { return parse_number(option, one); });
}

std::vector<std::uint64_t> parse_seeds(std::string_view option, std::string_view text) {
  return parse_list(text, [&](std::string_view one) {
    return parse<std::uint64_t>(option, one, "an integer from 0 to 18446744073709551615 (64 bits)");
  });
}

}  // namespace perfuse::cli
