// Standard input and output with errors that are told: a full disk behind `> file` is not silence.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perfuse::cli {

// All of standard input; Error(usage) beyond `most_bytes`, Error(io) where it can't be read.
[[nodiscard]] std::string read_standard_input(std::size_t most_bytes);

// Written through at once; Error(io) names the cause.
void write_standard_output(std::string_view text);

// Standard error, as far as it goes: nobody could be told of a failure.
void write_standard_error(std::string_view text);

}  // namespace perfuse::cli
