// A whole picture: seconds of each stage, and memory. The model is the shipped one, or the folder in PERFUSE_MODEL; PERFUSE_SIZE
// (pixels) and PERFUSE_STEPS set the work:
//   PERFUSE_MODEL=… PERFUSE_SIZE=512 PERFUSE_STEPS=2 bench_pipeline
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "perfuse/perfuse.h"
#include "perfuse/runtime/host_memory.h"

namespace perfuse {
namespace {

std::string setting(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

void picture(benchmark::State& state) {
  const auto pipe = AutoPipelineForText2Image::from_pretrained(
      setting("PERFUSE_MODEL", PERFUSE_SOURCE_DIR "/models/emoji-pixart"),
      {.dtype = static_cast<DType>(state.range(0))});
  CallArguments arguments{
      .prompt = "a red apple", .num_inference_steps = std::stoi(setting("PERFUSE_STEPS", "20")), .seed = 0};
  if (const auto size = setting("PERFUSE_SIZE", ""); !size.empty()) {
    arguments.height = arguments.width = std::stoll(size);
    arguments.use_resolution_binning = false;
  }
  for (auto _ : state) {
    const PipelineOutput output = pipe(arguments);
    for (const auto& [stage, seconds] : output.times)
      state.counters[stage] += benchmark::Counter(seconds, benchmark::Counter::kAvgIterations);
  }
  state.counters["peak_GB"] = static_cast<double>(runtime::peak_resident_memory()) / 1e9;
  state.counters["executables"] = static_cast<double>(pipe.executables_compiled());
}

BENCHMARK(picture)
    ->ArgName("dtype")
    ->Arg(static_cast<int>(DType::f32))
    ->Arg(static_cast<int>(DType::bf16))
    ->Unit(benchmark::kSecond)
    ->UseRealTime();

}  // namespace
}  // namespace perfuse
