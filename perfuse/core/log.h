// Messages for people, on standard error. Results go to standard output, never through here.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace perfuse::log {

enum class Level { debug, info, warning, error, off };

void set_level(Level level);
[[nodiscard]] Level level();

// Where messages go; an empty sink restores standard error. A program with a progress bar installs
// its own, so that a message does not tear the bar. The sink is called from one thread at a time.
using Sink = std::function<void(Level, std::string_view message)>;
void set_sink(Sink sink);

void write(Level level, std::string_view message);

template <class... Args> void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::debug) write(Level::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args> void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::info) write(Level::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args> void warning(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::warning) write(Level::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace perfuse::log
