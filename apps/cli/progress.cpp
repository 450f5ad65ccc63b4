#include "apps/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "apps/cli/standard_streams.h"

namespace perfuse::cli {
namespace {

using std::chrono::steady_clock;
constexpr auto kRedraw = std::chrono::milliseconds(50);
constexpr auto kLineEvery = std::chrono::seconds(10);
constexpr std::string_view kEraseLine = "\r\x1b[K";

std::string format_clock(double seconds) {
  const auto whole = static_cast<long>(std::ceil(std::clamp(seconds, 0.0, 1e7)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// "3.2 steps/s" or, below one, "1.6 s/step".
std::string format_rate(const ProgressState& state) {
  if (state.done < 1 || state.seconds <= 0.0) return "";
  const double rate = state.done / state.seconds;
  return rate >= 1.0 ? fmt::format("{:.1f} steps/s", rate) : fmt::format("{:.1f} s/step", 1.0 / rate);
}

std::string format_left(const ProgressState& state) {
  if (state.done < 1 || state.done >= state.total) return "";
  return format_clock(state.seconds / state.done * (state.total - state.done)) + " left";
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string format_bar(const ProgressState& state, int columns) {
  const std::string before = fmt::format("{}  ", state.stage);
  std::string after;
  if (state.total > 1) {
    after = fmt::format("  {}/{}", state.done, state.total);
    for (const auto& part : {format_rate(state), format_left(state)})
      if (!part.empty()) after += "  " + part;
  }
  // The last column stays free: a full line makes some terminals wrap.
  const int room = std::min(columns - 1 - static_cast<int>(before.size() + after.size()) - 2, 40);
  std::string line = before;
  if (room >= 5) {
    const int filled = state.total > 0 ? std::clamp(state.done, 0, state.total) * room / state.total : 0;
    std::string bar(static_cast<std::size_t>(filled), '=');
    if (filled < room) bar += '>';
    bar.resize(static_cast<std::size_t>(room), ' ');
    line += '[' + bar + ']';
  }
  line += after;
  return line.substr(0, static_cast<std::size_t>(std::max(columns - 1, 0)));
}

std::string format_line(const ProgressState& state) {
  if (state.total <= 1) return fmt::format("{}: {:.1f} s", state.stage, state.seconds);
  const std::string rate = format_rate(state);
  if (state.done >= state.total)
    return fmt::format("{}: {} steps in {:.1f} s{}", state.stage, state.total, state.seconds,
                       rate.empty() ? "" : fmt::format(" ({})", rate));
  const std::string left = format_left(state);
  return fmt::format("{}: {} of {} steps{}{}", state.stage, state.done, state.total,
                     rate.empty() ? "" : ", " + rate, left.empty() ? "" : ", " + left);
}

ProgressStyle progress_style_for_standard_error() {
  if (isatty(STDERR_FILENO) == 0) return ProgressStyle::lines;
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb" ? ProgressStyle::lines
                                                                     : ProgressStyle::bar;
}

Progress::Progress(ProgressStyle style, Write write, Clock clock)
    : style_(style),
      write_(write ? std::move(write) : Write(write_standard_error)),
      clock_(clock ? std::move(clock) : Clock(steady_clock::now)) {}

Progress::~Progress() { clear(); }

void Progress::set_prefix(std::string prefix) {
  const std::lock_guard lock(mutex_);
  prefix_ = std::move(prefix);
  stage_.clear();
  ended_ = true;
}

void Progress::update(std::string_view stage, int done, int total) {
  if (style_ == ProgressStyle::none) return;
  const std::lock_guard lock(mutex_);
  const auto now = clock_();
  const std::string name = prefix_ + std::string(stage);
  const bool begins = name != stage_ || done == 0;
  if (begins) {
    // Nobody says that a stage of one step is over but the next one's beginning.
    if (style_ == ProgressStyle::lines && !ended_ && name != stage_)
      write_(format_line({stage_, 1, 1, std::chrono::duration<double>(now - begun_).count()}) + '\n');
    stage_ = name;
    begun_ = shown_ = now;
  }
  const ProgressState state{stage_, done, total, std::chrono::duration<double>(now - begun_).count()};
  const bool ends = done >= total;
  ended_ = ends;
  if (style_ == ProgressStyle::lines) {
    if (!ends && now - shown_ < kLineEvery) return;
    write_(format_line(state) + '\n');
  } else {
    if (!begins && !ends && now - shown_ < kRedraw) return;
    write_(fmt::format("{}{}", kEraseLine, format_bar(state, terminal_columns())));
    drawn_ = true;
  }
  shown_ = now;
}

void Progress::print_line(std::string_view line) {
  const std::lock_guard lock(mutex_);
  clear_locked();
  write_(fmt::format("{}\n", line));
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  clear_locked();
}

void Progress::clear_locked() {
  if (drawn_) write_(kEraseLine);
  drawn_ = false;
}

}  // namespace perfuse::cli
