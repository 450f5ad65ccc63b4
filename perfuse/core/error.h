// The one exception type of the library.
//
// A message is one line for a person: it names the file, component, key or option; says what was
// found, what was expected, and what to do. `kind` is for programs.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace perfuse {

enum class ErrorKind {
  usage,          // the caller asked for something that makes no sense (exit status 2)
  model,          // a model folder is missing something, broken, or contradicts itself
  unsupported,    // valid, but perfuse or this device can't do it
  out_of_memory,  // host or device memory
  device,         // a device is absent, taken, or failed
  compiler,       // a device compiler failed
  io,             // a file can't be read or written
  cancelled,      // the caller or a signal stopped the run
};

// "usage", "model", …
[[nodiscard]] std::string_view to_string(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// throw Error with an fmt format: fail(ErrorKind::model, "{}: {} is missing", file, key).
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace perfuse
