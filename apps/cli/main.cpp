// perfuse: dispatch and exit statuses. 0: done; 2: usage; 128 + signal: stopped by it; 1: anything else.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"
#include "apps/cli/wait_policy.h"
#include "perfuse/core/error.h"
#include "perfuse/version.h"

namespace {

constexpr int kUsage = 2;
constexpr int kFailure = 1;

constexpr const char* kExamples = R"(Examples:
  perfuse generate "a red apple on a blue background"
  perfuse generate "a rocket" --seed 7 --steps 30 -o rocket.png
  perfuse inspect models/emoji-pixart
  perfuse devices

perfuse COMMAND --help tells more; the manual page is perfuse(1).)";

int say(std::string message, int status) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  perfuse::cli::write_standard_error(fmt::format("perfuse: {}\n", message));
  return status;
}

int run(int argc, char** argv) {
  using namespace perfuse::cli;
  CLI::App app("Runs diffusion pipelines: a model folder as diffusers writes it, a prompt in, a picture out.",
               "perfuse");
  app.set_version_flag("--version", fmt::format("perfuse {}", perfuse::version()),
                       "Print the version and exit");
  app.require_subcommand(0, 1);
  app.allow_extras();  // told apart, and refused, by parse_command_line
  app.footer(kExamples);
  const std::vector<Command> commands{add_generate(app), add_inspect(app), add_devices(app),
                                      add_schedulers(app), add_completions(app)};
  if (const auto status = parse_command_line(app, argc, argv)) return *status;
  for (const auto& command : commands)
    if (app.got_subcommand(command.options)) return command.run();
  return say("no command given; perfuse generate \"a red apple\" draws a picture, perfuse --help tells more",
             kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  perfuse::cli::hold_standard_streams();
  if (argc > 1 && std::string_view(argv[1]) == "generate") perfuse::cli::settle_wait_policy(argv);
  try {
    return run(argc, argv);
  } catch (const perfuse::Error& error) {
    return say(error.what(), error.kind() == perfuse::ErrorKind::usage ? kUsage : kFailure);
  } catch (const std::bad_alloc&) {
    return say("out of memory", kFailure);
  } catch (const std::exception& error) {
    return say(fmt::format("unexpected error: {}", error.what()), kFailure);
  }
}
