// SIGINT and SIGTERM end a run at its next chance; a second one ends the program at once.
#pragma once

#include <stop_token>
#include <thread>

namespace perfuse::cli {

// One object at a time. While it lives, the first signal asks `token()` to stop; signals that were ignored when it
// was made (nohup) stay so.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  // The signal that came, or 0.
  [[nodiscard]] int signal() const;

 private:
  std::stop_source source_;
  std::thread waiter_;
};

}  // namespace perfuse::cli
