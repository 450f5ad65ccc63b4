#include "apps/cli/standard_streams.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

// True, or false with errno set.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string cause() { return std::generic_category().message(errno); }

}  // namespace

std::string read_standard_input(std::size_t most_bytes) {
  std::string text;
  std::array<char, 65536> chunk;
  for (;;) {
    const auto got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, "standard input: {}", cause());
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes)
      fail(ErrorKind::usage, "standard input: more than {}", format_bytes(most_bytes));
  }
}

void write_standard_output(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) fail(ErrorKind::io, "standard output: {}", cause());
}

void write_standard_error(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

}  // namespace perfuse::cli
