#include "apps/cli/option_parser.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "apps/cli/standard_streams.h"
#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// What CLI11 could not place. It would say "was not expected"; here is what to do about it.
void refuse_extras(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  auto extras = app.remaining(true);
  std::erase(extras, "--");  // what follows it was placed, or is among the others
  if (extras.empty()) return;
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const auto& e) { return e.starts_with("-"); });
  if (option != extras.end())
    fail(ErrorKind::usage, "{}",
         unknown_name("option", option->substr(0, option->find('=')), option_names(command)));
  if (!commands.empty() && command.get_name() == "generate")
    fail(ErrorKind::usage, "unexpected {} after the prompt; put a prompt of several words in quotes",
         quote(extras.front()));
  if (!commands.empty())
    fail(ErrorKind::usage, "{}: unexpected {}", command.get_name(), quote(extras.front()));
  std::vector<std::string> names;
  for (const auto* known : app.get_subcommands({})) names.push_back(known->get_name());
  fail(ErrorKind::usage, "{}; a picture is drawn by perfuse generate \"PROMPT\"",
       unknown_name("command", extras.front(), names));
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  return command.get_option_no_throw(name);
}

// Writes the arguments of one command so that nothing is left to CLI11's guesses.
class Speller {
 public:
  explicit Speller(const CLI::App& command) : command_(command) {}

  // `argument` and, where it is an option whose value follows, the next one; gives how many it took.
  std::size_t take(const std::string& argument, const std::string* next) {
    if (argument.starts_with("--")) return take_long(argument, next);
    if (argument.size() > 1 && argument.front() == '-') return take_short(argument, next);
    positional_.push_back(argument);
    return 1;
  }
  void take_positional(const std::string& argument) { positional_.push_back(argument); }

  void append_to(std::vector<std::string>& result) const {
    result.insert(result.end(), options_.begin(), options_.end());
    if (positional_.empty()) return;
    result.emplace_back("--");  // "inspect" may be a prompt
    result.insert(result.end(), positional_.begin(), positional_.end());
  }

 private:
  std::size_t take_long(const std::string& argument, const std::string* next) {
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = find_option(command_, name);
    if (option == nullptr || equals == std::string::npos) {
      options_.push_back(argument);
      return option == nullptr ? 1 : take_value(*option, next);
    }
    const std::string value = argument.substr(equals + 1);
    if (!takes_value(*option)) fail(ErrorKind::usage, "{}: takes no value, found {}", name, quote(value));
    options_.push_back(name);
    options_.push_back(value);
    return 1;
  }

  // "-qo FILE" and "-qoFILE".
  std::size_t take_short(const std::string& argument, const std::string* next) {
    for (std::size_t at = 1; at < argument.size(); ++at) {
      const std::string name{'-', argument[at]};
      const CLI::Option* option = find_option(command_, name);
      if (option == nullptr) {
        const bool number = at == 1 && argument[at] >= '0' && argument[at] <= '9';
        (number ? positional_ : options_).push_back(argument);
        return 1;
      }
      const std::string rest = argument.substr(at + 1);
      if (rest.starts_with('='))
        fail(ErrorKind::usage, "{}: {}", quote(argument),
             takes_value(*option) ? fmt::format("a short option takes its value without =; write {} {}", name,
                                                quote(rest.substr(1)))
                                  : fmt::format("{} takes no value", name));
      options_.push_back(name);
      if (!takes_value(*option)) continue;
      if (rest.empty()) return take_value(*option, next);
      options_.push_back(rest);
      return 1;
    }
    return 1;
  }

  std::size_t take_value(const CLI::Option& option, const std::string* next) {
    if (!takes_value(option) || next == nullptr) return 1;
    options_.push_back(*next);
    return 2;
  }

  const CLI::App& command_;
  std::vector<std::string> options_, positional_;
};

// CLI11 2.1.2 takes the next argument for the value of "--option=", and "=FILE" for that of "-o=FILE". Here each
// option gets its value as an argument of its own, and what is no option stands behind "--".
std::vector<std::string> spell_out(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  std::size_t at = 0;
  const CLI::App* command = nullptr;
  for (; at < arguments.size() && command == nullptr; ++at) {
    command = find_command(app, arguments[at]);
    if (command == nullptr && arguments[at].starts_with("--") && arguments[at].find('=') != std::string::npos)
      (void)Speller(app).take(arguments[at], nullptr);  // "--version=1"
    result.push_back(arguments[at]);
  }
  if (command == nullptr) return result;
  Speller speller(*command);
  while (at < arguments.size() && arguments[at] != "--")
    at += speller.take(arguments[at], at + 1 < arguments.size() ? &arguments[at + 1] : nullptr);
  for (++at; at < arguments.size(); ++at) speller.take_positional(arguments[at]);
  speller.append_to(result);
  return result;
}

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, help);
  command->footer(examples);
  return command;
}

CLI::Option* add_value(CLI::App& command, const std::string& names, const std::string& placeholder,
                       const std::string& help, std::function<void(const std::string& text)> take) {
  const auto take_some = [take = std::move(take), names, placeholder](const std::string& text) {
    if (text.empty() && placeholder != kAnyText)
      fail(ErrorKind::usage, "{}: expected {}, found \"\"", names.substr(names.find(',') + 1),
           placeholder.empty() ? "a name" : placeholder);
    take(text);
  };
  return command.add_option_function<std::string>(names, take_some, help)
      ->type_name(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  auto arguments = spell_out(app, {argv + std::min(argc, 1), argv + argc});
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion& version) {
    write_standard_output(std::string(version.what()) + '\n');
    return 0;
  } catch (const CLI::CallForHelp&) {
    write_standard_output(app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    fail(ErrorKind::usage, "{}", one_line(error.what()));
  }
  refuse_extras(app);
  return std::nullopt;
}

}  // namespace perfuse::cli
