// The subcommands of perfuse, one file each. add_… puts a subcommand with its options into `app`; the runner that
// it gives back does the work after the options were parsed and returns the exit status.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace perfuse::cli {

using Runner = std::function<int()>;
struct Command {
  CLI::App* options;
  Runner run;
};

[[nodiscard]] Command add_generate(CLI::App& app);
[[nodiscard]] Command add_inspect(CLI::App& app);
[[nodiscard]] Command add_devices(CLI::App& app);
[[nodiscard]] Command add_schedulers(CLI::App& app);
[[nodiscard]] Command add_completions(CLI::App& app);

}  // namespace perfuse::cli
