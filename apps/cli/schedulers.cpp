// perfuse schedulers: the names that --scheduler takes.
#include "perfuse/schedulers/scheduler.h"

#include "perfuse/schedulers/scheduler_names.h"

#include <CLI/App.hpp>

#include "apps/cli/commands.h"
#include "apps/cli/option_parser.h"
#include "apps/cli/standard_streams.h"

namespace perfuse::cli {
namespace {

int schedulers() {
  std::string text;
  for (const auto& [class_name, names] : short_scheduler_names(scheduler_names())) {
    text += class_name + '\n';
    for (const auto& name : names) text += name + '\n';
  }
  write_standard_output(text);
  return 0;
}

}  // namespace

Command add_schedulers(CLI::App& app) {
  return {add_command(
              app, "schedulers",
              "List the schedulers that --scheduler takes: classes, each followed by its short names",
              "With -karras, -exponential or -beta at its end a name chooses these sigmas too.\n\nExamples:\n"
              "  perfuse generate \"a red apple\" --scheduler euler\n"
              "  perfuse generate \"a red apple\" --scheduler dpm++2m-karras"),
          schedulers};
}

}  // namespace perfuse::cli
