// The devices that one component runs on, with named axes. Every Module runs on a mesh; today's backends
// take size 1.
#pragma once

#include <vector>

#include "perfuse/runtime/device.h"

namespace perfuse {

struct Mesh {
  std::vector<Device> devices{Device{}};  // tp varies fastest, then cfg, then sp
  int tp = 1;                             // tensor parallel: weights split over devices
  int cfg = 1;                            // guidance: the two predictions on two groups
  int sp = 1;                             // sequence parallel

  [[nodiscard]] int size() const { return tp * cfg * sp; }
};

}  // namespace perfuse
