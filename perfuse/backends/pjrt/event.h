// Work of a plugin that is under way.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "perfuse/backends/pjrt/plugin.h"

namespace perfuse::pjrt {

// Owns one event; may be empty. The plugin must outlive it.
class Event {
 public:
  Event() = default;
  Event(const Plugin& plugin, abi::Event* event) : plugin_(&plugin), event_(event) {}
  Event(Event&& other) noexcept : plugin_(other.plugin_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept;
  ~Event();

  // True where empty, and where the plugin can't tell: then wait() says what is wrong.
  [[nodiscard]] bool ready() const;
  // Waits; what the work failed with, or nothing.
  [[nodiscard]] std::optional<PluginFailure> wait() const;
  // Waits; Error as Plugin::call makes it.
  void await(std::string_view doing, ErrorKind otherwise = ErrorKind::device) const;
  // Leaves the event to the plugin: for the end of the process.
  void abandon() { event_ = nullptr; }

 private:
  const Plugin* plugin_ = nullptr;
  abi::Event* event_ = nullptr;
};

// Events that nobody waits for yet, each with what must stay alive until it is there. Any thread may call.
class PendingWork {
 public:
  PendingWork() = default;
  // `doing` is a literal, for the error of an event that fails; without it failures are of no interest.
  void add(Event event, std::string_view doing, std::shared_ptr<const void> keeps_alive);
  // Lets go of the events at the front that are there. Costs one question where nothing is.
  void sweep();
  // Waits for all events added before the call. The first failure since the last call, or nothing.
  [[nodiscard]] std::optional<Error> wait();

 private:
  struct Entry {
    std::shared_ptr<const Event> event;  // shared with threads that wait for it
    std::string_view doing;
    std::shared_ptr<const void> keeps_alive;
  };
  void note(const Entry& entry);

  std::mutex mutex_;
  std::deque<Entry> entries_;
  std::optional<Error> failure_;
};

}  // namespace perfuse::pjrt
