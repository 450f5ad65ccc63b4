#include "perfuse/core/file_descriptor.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace perfuse {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string describe_errno(int error) {
  switch (error) {
    case ENOENT: return "no such file or folder";
    case EISDIR: return "it is a folder";
    case ENOTDIR: return "a part of its path is not a folder";
    case ELOOP: return "its symbolic links form a loop";
    case EACCES:
    case EPERM: return "no permission";
    case EROFS: return "the file system is read-only";
    case ENOSPC:
    case EDQUOT: return "the disk is full";
    case EPIPE: return "nobody reads the other end";
    default: return std::system_category().message(error);
  }
}

}  // namespace perfuse
