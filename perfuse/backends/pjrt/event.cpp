#include "perfuse/backends/pjrt/event.h"

#include <vector>

namespace perfuse::pjrt {

Event& Event::operator=(Event&& other) noexcept {
  std::swap(plugin_, other.plugin_);
  std::swap(event_, other.event_);
  return *this;
}

Event::~Event() {
  if (event_ == nullptr) return;
  abi::EventDestroyArgs arguments{};
  arguments.event = event_;
  static_cast<void>(plugin_->attempt(arguments));
}

bool Event::ready() const {
  if (event_ == nullptr) return true;
  abi::EventIsReadyArgs arguments{};
  arguments.event = event_;
  return plugin_->attempt(arguments).has_value() || arguments.is_ready;
}

std::optional<PluginFailure> Event::wait() const {
  if (event_ == nullptr) return std::nullopt;
  abi::EventAwaitArgs arguments{};
  arguments.event = event_;
  return plugin_->attempt(arguments);
}

void Event::await(std::string_view doing, ErrorKind otherwise) const {
  if (const auto failure = wait()) plugin_->fail_with(*failure, doing, otherwise);
}

void PendingWork::add(Event event, std::string_view doing, std::shared_ptr<const void> keeps_alive) {
  const std::scoped_lock lock(mutex_);
  entries_.push_back({std::make_shared<const Event>(std::move(event)), doing, std::move(keeps_alive)});
}

// Called with the lock held and the event there.
void PendingWork::note(const Entry& entry) {
  if (entry.doing.empty() || failure_) return;
  try {
    entry.event->await(entry.doing);
  } catch (const Error& error) {
    failure_ = error;
  }
}

void PendingWork::sweep() {
  std::vector<Entry> done;  // destroyed without the lock: what they keep alive may sweep in turn
  const std::scoped_lock lock(mutex_);
  while (!entries_.empty() && entries_.front().event->ready()) {
    note(entries_.front());
    done.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
}

std::optional<Error> PendingWork::wait() {
  std::vector<std::shared_ptr<const Event>> events;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& entry : entries_) events.push_back(entry.event);
  }
  for (const auto& event : events) static_cast<void>(event->wait());
  events.clear();
  sweep();
  const std::scoped_lock lock(mutex_);
  return std::exchange(failure_, std::nullopt);
}

}  // namespace perfuse::pjrt
