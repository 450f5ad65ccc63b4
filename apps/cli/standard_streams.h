// Standard input and output with errors that are told: a full disk behind `> file` is not silence.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace perfuse::cli {

// Where one of the three streams is closed, the next file to be opened would get its number, and a message would end up
// in that file. Puts something there that can't be read or written as the stream would be.
void hold_standard_streams();

// All of a regular file, of standard input ("-") or of another open descriptor (/dev/fd/N, as shells name a command's
// output): Error(usage) for a stream beyond `most_bytes`, Error(io) where it can't be read or a file is larger. Where a
// person has to type it, standard error says so.
[[nodiscard]] std::string read_text(const std::filesystem::path& file, std::size_t most_bytes);

[[nodiscard]] bool is_standard_input(const std::filesystem::path& file);

// Written through at once; Error(io) names the cause.
void write_standard_output(std::string_view text);

// Standard error, as far as it goes: nobody could be told of a failure.
void write_standard_error(std::string_view text);

}  // namespace perfuse::cli
