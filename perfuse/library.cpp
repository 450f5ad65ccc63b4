#include "perfuse/version.h"

namespace perfuse {

const char* version() { return PERFUSE_VERSION; }

}  // namespace perfuse
