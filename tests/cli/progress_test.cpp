#include "apps/cli/progress.h"

#include <gtest/gtest.h>

namespace perfuse::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Progress, Bar) {
  EXPECT_EQ(format_bar({"denoise", 5, 20, 2.5}, 80),
            "denoise  [=========>                            ]  5/20  2.0 steps/s  0:08 left");
  EXPECT_EQ(format_bar({"denoise", 0, 20, 0.0}, 40), "denoise  [>                     ]  0/20");
  EXPECT_EQ(format_bar({"denoise", 1, 2, 3600.0}, 30), "denoise    1/2  3600.0 s/step");
  EXPECT_EQ(format_bar({"vae", 0, 1, 0.0}, 20), "vae  [>           ]");
  for (const int columns : {0, 1, 5, 17, 33, 200})
    EXPECT_LT(format_bar({"denoise", 7, 20, 1.0}, columns).size(), static_cast<std::size_t>(columns) + 1)
        << columns;
}

TEST(Progress, Lines) {
  EXPECT_EQ(format_line({"denoise", 20, 20, 5.0}), "denoise: 20 steps in 5.0 s (4.0 steps/s)");
  EXPECT_EQ(format_line({"denoise", 1, 20, 200.0}), "denoise: 1 of 20 steps, 200.0 s/step, 1:03:20 left");
  EXPECT_EQ(format_line({"vae", 1, 1, 0.25}), "vae: 0.2 s");
}

class Recorder {
 public:
  explicit Recorder(ProgressStyle style)
      : progress(
            style, [this](std::string_view text) { written += text; }, [this] { return now; }) {}
  std::string take() { return std::exchange(written, {}); }

  std::string written;
  std::chrono::steady_clock::time_point now{};
  Progress progress;
};

TEST(Progress, LinesAreFew) {
  Recorder r(ProgressStyle::lines);
  r.progress.update("denoise", 0, 100);
  for (int i = 1; i < 100; ++i) {
    r.now += milliseconds(150);
    r.progress.update("denoise", i, 100);
  }
  EXPECT_EQ(r.take(), "denoise: 67 of 100 steps, 6.7 steps/s, 0:05 left\n");
  r.progress.update("denoise", 100, 100);
  EXPECT_EQ(r.take(), "denoise: 100 steps in 14.8 s (6.7 steps/s)\n");
}

TEST(Progress, AStageEndsWhereTheNextBegins) {
  Recorder r(ProgressStyle::lines);
  r.progress.update("text_encoder", 0, 1);
  r.now += seconds(2);
  r.progress.update("denoise", 0, 1);
  EXPECT_EQ(r.take(), "text_encoder: 2.0 s\n");
}

TEST(Progress, BarIsRedrawnSeldomAndMakesWayForMessages) {
  Recorder r(ProgressStyle::bar);
  r.progress.set_prefix("[1/2] ");
  r.progress.update("denoise", 0, 9);
  EXPECT_NE(r.take().find("[1/2] denoise"), std::string::npos);
  r.now += milliseconds(10);
  r.progress.update("denoise", 1, 9);
  EXPECT_EQ(r.take(), "");
  r.now += milliseconds(50);
  r.progress.update("denoise", 2, 9);
  EXPECT_NE(r.take().find("2/9"), std::string::npos);
  r.progress.print_line("perfuse: warning: x");
  EXPECT_EQ(r.take(), "\r\x1b[Kperfuse: warning: x\n");
  r.progress.clear();
  EXPECT_EQ(r.take(), "");
}

TEST(Progress, NoneSaysNothing) {
  Recorder r(ProgressStyle::none);
  r.progress.update("denoise", 1, 1);
  EXPECT_EQ(r.take(), "");
}

}  // namespace
}  // namespace perfuse::cli
