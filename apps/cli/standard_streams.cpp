#include "apps/cli/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/file_descriptor.h"
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

std::string cause() { return errno == EBADF ? "closed" : describe_errno(errno); }

std::string read_stream(int fd, const std::string& name, std::size_t most_bytes) {
  if (::isatty(fd) != 0)
    write_standard_error(fmt::format(
        "perfuse: reading {} from the terminal; Ctrl-D at the beginning of a line ends it\n", name));
  std::string text;
  std::array<char, 65536> chunk;
  for (;;) {
    const auto got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, "{}: can't be read: {}", name, cause());
    if (got == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(got));
    if (text.size() > most_bytes) fail(ErrorKind::usage, "{}: more than {}", name, format_bytes(most_bytes));
  }
}

}  // namespace

void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)  // open takes the lowest free number
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool is_standard_input(const std::filesystem::path& file) {
  return file == "-" || named_descriptor(file) == STDIN_FILENO;
}

std::string read_text(const std::filesystem::path& file, std::size_t most_bytes) {
  if (is_standard_input(file)) return read_stream(STDIN_FILENO, "standard input", most_bytes);
  if (const auto fd = named_descriptor(file)) return read_stream(*fd, display(file), most_bytes);
  return read_file(file, most_bytes);
}

void write_standard_output(std::string_view text) {
  if (!write_all(STDOUT_FILENO, text)) fail(ErrorKind::io, "standard output: can't be written: {}", cause());
}

void write_standard_error(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

}  // namespace perfuse::cli
