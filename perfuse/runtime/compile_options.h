// How a component's programs are cut and compiled: the same options on every device.
#pragma once

#include <memory>

#include "perfuse/graph/segment.h"

namespace perfuse::runtime {

class CompileCache;

struct CompileOptions {
  graph::Granularity granularity = graph::Granularity::block;
  // Refuse a model of which a node would run on the host, instead of running it there, counted.
  bool fullgraph = false;
  std::shared_ptr<CompileCache> cache = nullptr;  // null: compiled programs are not kept
};

}  // namespace perfuse::runtime
