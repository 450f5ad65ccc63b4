// perfuse completions SHELL: prints the script that makes the shell complete perfuse's options.
#include <CLI/App.hpp>
#include <memory>
#include <string>

#include "apps/cli/commands.h"
#include "apps/cli/completion_scripts.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"
#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  source <(perfuse completions bash)
  perfuse completions zsh > ~/.zfunc/_perfuse       with fpath+=(~/.zfunc) before compinit
  perfuse completions fish > ~/.config/fish/completions/perfuse.fish)";

int completions(const std::string& shell) {
  if (shell == "bash")
    write_standard_output(kBashCompletion);
  else if (shell == "zsh")
    write_standard_output(kZshCompletion);
  else if (shell == "fish")
    write_standard_output(kFishCompletion);
  else
    fail(ErrorKind::usage, "completions: expected bash, zsh or fish, found {}", quote(shell));
  return 0;
}

}  // namespace

Command add_completions(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      add_command(app, "completions", "Print a completion script: bash, zsh or fish", kExamples);
  add_value(*command, "SHELL", "", "bash, zsh or fish", [shell](const std::string& text) { *shell = text; });
  return {command, [shell] { return completions(*shell); }};
}

}  // namespace perfuse::cli
