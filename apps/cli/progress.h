// What a run is at, on standard error: a bar on a terminal, else a line as each stage ends and now and then within
// a long one.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace perfuse::cli {

struct ProgressState {
  std::string_view stage;
  int done, total;
  double seconds;  // since the stage began
};

// "denoise  [=======>      ]  7/20  3.2 steps/s  0:04 left", at most `columns` wide.
[[nodiscard]] std::string format_bar(const ProgressState& state, int columns);
// "denoise: 20 steps in 6.3 s (3.2 steps/s)", or "denoise: 7 of 20 steps, 3.2 steps/s, 0:04 left".
[[nodiscard]] std::string format_line(const ProgressState& state);

enum class ProgressStyle { none, lines, bar };
// The bar for a terminal that can move its cursor.
[[nodiscard]] ProgressStyle progress_style_for_standard_error();

class Progress {
 public:
  using Write = std::function<void(std::string_view)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit Progress(ProgressStyle style, Write write = {}, Clock clock = {});
  // Takes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Before the stage's name: "[2/5] " in a batch.
  void set_prefix(std::string prefix);
  void update(std::string_view stage, int done, int total);
  // A whole line of other output on standard error, without tearing the bar.
  void print_line(std::string_view line);
  void clear();

 private:
  void clear_locked();

  ProgressStyle style_;
  Write write_;
  Clock clock_;
  std::mutex mutex_;
  std::string prefix_, stage_;
  bool drawn_ = false, ended_ = true;
  std::chrono::steady_clock::time_point begun_, shown_;
};

}  // namespace perfuse::cli
