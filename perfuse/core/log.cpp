#include "perfuse/core/log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>
#include <mutex>

namespace perfuse::log {
namespace {

constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                             spdlog::level::err, spdlog::level::off};

spdlog::level::level_enum to_spdlog(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

Level from_spdlog(spdlog::level::level_enum level) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels[i] >= level) return static_cast<Level>(i);
  return Level::off;
}

// Hands messages to a function; base_sink's mutex lets one thread at a time through.
class FunctionSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(Sink function) : sink_(std::move(function)) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    sink_(from_spdlog(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

 private:
  Sink sink_;
};

// A library in another's process: a logger of its own, not spdlog's default one. Its sink can be
// exchanged while other threads write.
class ExchangeableSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void exchange(spdlog::sink_ptr next) {
    const std::lock_guard lock(mutex_);
    sink_ = std::move(next);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override { sink_->log(message); }
  void flush_() override { sink_->flush(); }

 private:
  spdlog::sink_ptr sink_;
};

spdlog::sink_ptr standard_error() {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  sink->set_pattern("%l: %v");  // "warning: …"
  return sink;
}

struct Log {
  std::shared_ptr<ExchangeableSink> sink = std::make_shared<ExchangeableSink>();
  spdlog::logger logger{"perfuse", sink};
  Log() {
    sink->exchange(standard_error());
    logger.set_level(spdlog::level::info);
    logger.flush_on(spdlog::level::trace);
  }
};

Log& instance() {
  static Log log;
  return log;
}

}  // namespace

void set_level(Level level) { instance().logger.set_level(to_spdlog(level)); }

Level level() { return from_spdlog(instance().logger.level()); }

void set_sink(Sink sink) {
  instance().sink->exchange(sink ? std::make_shared<FunctionSink>(std::move(sink)) : standard_error());
}

void write(Level level, std::string_view message) {
  if (level == Level::off) return;
  instance().logger.log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace perfuse::log
