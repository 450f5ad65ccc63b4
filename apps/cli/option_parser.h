// CLI11 with this project's messages: one line, near names, and no bare word taken for granted.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace perfuse::cli {

// A subcommand without positional surprises; `examples` ends its help.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::string& examples);

// The placeholder of an option that takes any text, the empty one too.
inline constexpr const char* kAnyText = "TEXT";

// An option whose text `take` turns into a value; `take` throws Error(usage). The last one counts. An empty text is
// Error(usage), but for a placeholder kAnyText: "--like=$UNSET" shall not be as if nothing was said.
CLI::Option* add_value(CLI::App& command, const std::string& names, const std::string& placeholder,
                       const std::string& help, std::function<void(const std::string& text)> take);

// Parses; gives the exit status where nothing is left to run (help, version). Error(usage) otherwise.
[[nodiscard]] std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv);

}  // namespace perfuse::cli
