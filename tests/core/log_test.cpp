#include "perfuse/core/log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "perfuse/core/error.h"

namespace perfuse::log {
namespace {

class Log : public ::testing::Test {
 protected:
  void SetUp() override {
    set_sink([this](Level level, std::string_view message) { messages_.emplace_back(level, message); });
  }
  void TearDown() override {
    set_sink({});
    set_level(Level::info);
  }
  std::vector<std::pair<Level, std::string>> messages_;
};

TEST_F(Log, LevelsChooseWhatIsWritten) {
  EXPECT_EQ(level(), Level::info);
  debug("no {}", 1);
  info("i {}", 2);
  warning("w {}", 3);
  write(Level::error, "e {4}");
  set_level(Level::off);
  EXPECT_EQ(level(), Level::off);
  warning("nothing");
  write(Level::error, "nothing");
  write(Level::off, "nothing");
  set_level(Level::debug);
  debug("d");
  const std::vector<std::pair<Level, std::string>> expected{
      {Level::info, "i 2"}, {Level::warning, "w 3"}, {Level::error, "e {4}"}, {Level::debug, "d"}};
  EXPECT_EQ(messages_, expected);
}

TEST_F(Log, StandardErrorHasPlainLines) {
  set_sink({});
  ::testing::internal::CaptureStderr();
  warning("no weights in {}", "vae");
  info("loaded");
  write(Level::error, "broken");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: no weights in vae\ninfo: loaded\nerror: broken\n");
}

TEST_F(Log, SinkIsCalledFromOneThreadAtATime) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) info("{}", i);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(messages_.size(), 800u);
}

TEST(ErrorKinds, HaveNames) {
  EXPECT_EQ(to_string(ErrorKind::usage), "usage");
  EXPECT_EQ(to_string(ErrorKind::model), "model");
  EXPECT_EQ(to_string(ErrorKind::unsupported), "unsupported");
  EXPECT_EQ(to_string(ErrorKind::out_of_memory), "out_of_memory");
  EXPECT_EQ(to_string(ErrorKind::device), "device");
  EXPECT_EQ(to_string(ErrorKind::compiler), "compiler");
  EXPECT_EQ(to_string(ErrorKind::io), "io");
  EXPECT_EQ(to_string(ErrorKind::cancelled), "cancelled");
  try {
    fail(ErrorKind::model, "{}: {} is missing", "f", "k");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f: k is missing");
    EXPECT_EQ(error.kind(), ErrorKind::model);
  }
}

}  // namespace
}  // namespace perfuse::log
