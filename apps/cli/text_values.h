// Option values from the command line. Strict: the whole text, decimal, no white space, no wrapping; errors are
// Error(usage) "--steps: expected an integer, found \"ten\"".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace perfuse::cli {

[[nodiscard]] std::int64_t parse_integer(std::string_view option, std::string_view text);
[[nodiscard]] int parse_int(std::string_view option, std::string_view text);
// "nan" and "inf" are numbers here: whoever uses the value says what is wrong with it.
[[nodiscard]] double parse_number(std::string_view option, std::string_view text);
// One or more, separated by commas.
[[nodiscard]] std::vector<double> parse_numbers(std::string_view option, std::string_view text);
[[nodiscard]] std::vector<std::uint64_t> parse_seeds(std::string_view option, std::string_view text);

}  // namespace perfuse::cli
