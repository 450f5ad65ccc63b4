#include "apps/cli/option_parser.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
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
  auto extras = command.remaining();
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

}  // namespace

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& help,
                      const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, help);
  command->footer(examples);
  return command;
}

CLI::Option* add_value(CLI::App& command, const std::string& names, const std::string& placeholder,
                       const std::string& help, std::function<void(const std::string& text)> take) {
  return command
      .add_option_function<std::string>(
          names, [take = std::move(take)](const std::string& text) { take(text); }, help)
      ->type_name(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

std::optional<int> parse_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
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
