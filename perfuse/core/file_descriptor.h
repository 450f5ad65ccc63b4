// An open file that closes itself, and the words for what went wrong with it.
#pragma once

#include <string>
#include <utility>

namespace perfuse {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  // -1: none.
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// "the disk is full", "no permission", …: the end of a message about a file.
[[nodiscard]] std::string describe_errno(int error);

}  // namespace perfuse
