// perfuse schedulers: the names that --scheduler takes.
#include "perfuse/schedulers/scheduler.h"

#include <CLI/App.hpp>

#include "apps/cli/commands.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"

namespace perfuse::cli {
namespace {

int schedulers() {
  std::string text;
  for (const auto& name : scheduler_names()) text += name + '\n';
  write_standard_output(text);
  return 0;
}

}  // namespace

Command add_schedulers(CLI::App& app) {
  return {add_command(app, "schedulers", "List the schedulers that --scheduler takes",
                      "Example:\n  perfuse generate \"a red apple\" --scheduler EulerDiscreteScheduler"),
          schedulers};
}

}  // namespace perfuse::cli
