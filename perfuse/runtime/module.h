// A graph made runnable on a device: segments, their executables, and a memory plan for what passes
// between them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "perfuse/graph/segment.h"
#include "perfuse/runtime/compile_options.h"
#include "perfuse/runtime/device_context.h"
#include "perfuse/runtime/parameter_store.h"

namespace perfuse::runtime {

using NamedBuffers = std::map<std::string, BufferPtr, std::less<>>;

struct RunOptions {
  std::vector<std::string> taps;  // module paths whose outputs are wanted too
  std::stop_token stop;           // asked between segments: Error(cancelled)
};

class Module {
 public:
  // Cuts and compiles. With `fullgraph`, Error(unsupported) names a node that the device can't run; without, such nodes
  // run on the host.
  Module(graph::Graph graph, const CompileOptions& options, std::shared_ptr<DeviceContext> context,
         std::shared_ptr<ParameterStore> parameters);

  // Every input of the graph by name, of its very type, on the module's device; gives every output. The memory of inputs
  // named in `given_away` may become an output's: nobody may use those buffers again. Runs may overlap: each has a
  // workspace of its own, kept for the next.
  [[nodiscard]] NamedBuffers run(const NamedBuffers& inputs, const std::stop_token& stop = {},
                                 const std::set<std::string, std::less<>>& given_away = {}) const;

  [[nodiscard]] const graph::Graph& graph() const { return graph_; }
  // Gives the workspaces' memory back.
  void release_workspaces() const;

  struct Plan {
    std::size_t segments = 0, distinct_executables = 0;
    std::size_t host_segments = 0;  // of nodes that the device can't run
    std::size_t value_bytes = 0;    // between segments, shared by lifetime
    std::size_t scratch_bytes = 0;  // the largest executable's
    std::size_t parameter_bytes = 0;
  };
  [[nodiscard]] const Plan& plan() const { return plan_; }
  // Kernel choices of each distinct executable, with the names of the segments that use it.
  struct SegmentChoice {
    std::vector<std::string> segments;
    std::vector<KernelChoice> kernels;
  };
  [[nodiscard]] std::vector<SegmentChoice> explain() const;

 private:
  struct Workspace {
    std::vector<BufferPtr> values;  // by ValueId; null where the executable makes its own
    BufferPtr scratch;
  };
  [[nodiscard]] Workspace take_workspace() const;
  // The nodes that run on the host; Error(unsupported) where `fullgraph` forbids it.
  [[nodiscard]] std::set<const graph::Node*> host_nodes(bool fullgraph) const;
  void compile(const std::shared_ptr<CompileCache>& cache);
  void plan_values();
  void run_segment(std::size_t index, std::vector<BufferPtr>& values, const BufferPtr& scratch,
                   const std::set<graph::ValueId>& mine) const;
  void run_on_host(std::size_t index, std::vector<BufferPtr>& values) const;
  [[nodiscard]] std::vector<BufferPtr> parameters_of(std::size_t index) const;

  graph::Graph graph_;
  std::shared_ptr<DeviceContext> context_;
  std::shared_ptr<ParameterStore> parameters_;
  std::vector<graph::Segment> segments_;
  std::vector<std::shared_ptr<const Executable>> executables_;   // by segment
  std::vector<std::vector<graph::ValueId>> dead_after_;          // by segment: values that no later one reads
  std::vector<std::pair<graph::ValueId, std::size_t>> offsets_;  // values placed in the area
  Plan plan_;
  mutable std::mutex mutex_;
  mutable std::vector<Workspace> idle_;
};

}  // namespace perfuse::runtime
