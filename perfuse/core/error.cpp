#include "perfuse/core/error.h"

namespace perfuse {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::model: return "model";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::out_of_memory: return "out_of_memory";
    case ErrorKind::device: return "device";
    case ErrorKind::compiler: return "compiler";
    case ErrorKind::io: return "io";
    case ErrorKind::cancelled: return "cancelled";
  }
  return "unknown";
}

}  // namespace perfuse
