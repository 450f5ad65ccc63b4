#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "perfuse/image/terminal.h"

namespace perfuse {
namespace {

// Long enough for a terminal over a near network, too short to be felt.
constexpr std::chrono::milliseconds kAnswerTime{100};
constexpr std::size_t kMostAnswerBytes = 256;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// False only where the locale names another character set: most containers set no locale at all, and
// it is the terminal that reads the bytes.
bool takes_utf8(const EnvironmentLookup& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = environment(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = lower(value);
    return locale.find('.') == std::string::npos || locale.find("utf-8") != std::string::npos ||
           locale.find("utf8") != std::string::npos;
  }
  return true;
}

// No line buffering and no echo while it lives. Signals from the keyboard still work.
class RawMode {
 public:
  explicit RawMode(int fd) : fd_(fd), active_(tcgetattr(fd, &saved_) == 0) {
    if (!active_) return;
    termios raw = saved_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    active_ = tcsetattr(fd, TCSANOW, &raw) == 0;
  }
  ~RawMode() {
    if (active_) tcsetattr(fd_, TCSANOW, &saved_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;
  [[nodiscard]] bool active() const { return active_; }

 private:
  int fd_;
  termios saved_{};
  bool active_;
};

bool input_waits(int fd) {
  int waiting = 0;
  return ioctl(fd, FIONREAD, &waiting) != 0 || waiting > 0;
}

}  // namespace

EnvironmentFinding graphics_from_environment(const EnvironmentLookup& environment) {
  const auto get = [&](const char* name) {
    const char* value = environment(name);
    return std::string(value != nullptr ? value : "");
  };
  const std::string term = get("TERM");
  const std::string program = get("TERM_PROGRAM");
  const bool color = get("NO_COLOR").empty();
  if (term.empty() || term == "dumb") return {TerminalGraphics::none, false};
  const EnvironmentFinding ask = {
      color && takes_utf8(environment) ? TerminalGraphics::half_blocks : TerminalGraphics::none, true};

  // A multiplexer shows the variables of the terminal it was started in, but passes on only what it
  // understands itself: newer tmux and zellij do sixel, and say so when asked.
  if (!get("TMUX").empty() || !get("STY").empty() || !get("ZELLIJ").empty() || term.starts_with("screen") ||
      term.starts_with("tmux"))
    return ask;

  if (program == "iTerm.app" || program == "WezTerm") return {TerminalGraphics::iterm2, false};
  if (program == "ghostty" || program == "kitty") return {TerminalGraphics::kitty, false};
  if (term == "xterm-kitty" || term == "xterm-ghostty") return {TerminalGraphics::kitty, false};
  // Another terminal that was started from kitty has inherited this one, and has its own TERM_PROGRAM
  // or TERM_PROGRAM's equivalent.
  if (!get("KITTY_WINDOW_ID").empty() && program.empty() && get("VTE_VERSION").empty() &&
      get("KONSOLE_VERSION").empty())
    return {TerminalGraphics::kitty, false};
  if (get("LC_TERMINAL") == "iTerm2") return {TerminalGraphics::iterm2, false};  // survives ssh
  return ask;
}

std::string ask_device_attributes(int in, int out, std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  if (isatty(in) == 0 || isatty(out) == 0) return {};
  // Changing the modes from the background would stop the process (SIGTTOU).
  if (const pid_t foreground = tcgetpgrp(in); foreground != -1 && foreground != getpgrp()) return {};
  // Whole lines that wait must be seen before the mode changes (the kernel forgets where they end),
  // and a begun line after it (line buffering hides it).
  if (input_waits(in)) return {};
  const RawMode raw(in);
  if (!raw.active() || input_waits(in)) return {};

  constexpr std::string_view kQuestion = "\x1b[c";
  if (write(out, kQuestion.data(), kQuestion.size()) != static_cast<ssize_t>(kQuestion.size())) return {};
  std::string answer;
  const auto end = Clock::now() + timeout;
  while (answer.size() < kMostAnswerBytes) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return {};
    pollfd ready{in, POLLIN, 0};
    const int count = poll(&ready, 1, static_cast<int>(left));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    std::array<char, 64> piece;
    const ssize_t size = read(in, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return {};
    answer.append(piece.data(), static_cast<std::size_t>(size));
    if (const std::size_t last = answer.find('c'); last != std::string::npos)
      return answer.substr(0, last + 1);
  }
  return {};
}

bool attributes_list_sixel(std::string_view answer) {
  constexpr std::string_view kStart = "\x1b[?";
  const std::size_t start = answer.find(kStart);
  if (start == std::string_view::npos || !answer.ends_with('c')) return false;
  std::string_view list = answer.substr(start + kStart.size());
  list.remove_suffix(1);
  while (!list.empty()) {
    const std::size_t size = std::min(list.find(';'), list.size());
    if (list.substr(0, size) == "4") return true;
    list.remove_prefix(std::min(size + 1, list.size()));
  }
  return false;
}

TerminalGraphics detect_terminal_graphics(int fd) {
  if (isatty(fd) == 0) return TerminalGraphics::none;
  const EnvironmentFinding found =
      graphics_from_environment([](const char* name) { return std::getenv(name); });
  if (found.ask_for_sixel && attributes_list_sixel(ask_device_attributes(STDIN_FILENO, fd, kAnswerTime)))
    return TerminalGraphics::sixel;
  return found.graphics;
}

}  // namespace perfuse
