// The README's example, word for word (./run-tests compares the two), in a program of its own.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "perfuse/perfuse.h"

namespace {

void example() {
  // clang-format off
  // README example begins
  auto pipe = perfuse::AutoPipelineForText2Image::from_pretrained("models/emoji-pixart", {.dtype = perfuse::DType::f32});
  pipe.to(perfuse::Device("cpu"));
  pipe.warmup({.prompt = "warmup", .num_inference_steps = 1});
  auto image = pipe({.prompt = "a red apple", .num_inference_steps = 20, .seed = 0}).images[0];
  image.save("output.png");
  // README example ends
  // clang-format on
}

TEST(LibraryExample, DrawsAPicture) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("perfuse-example-" + std::to_string(::getpid()));
  const auto before = std::filesystem::current_path();
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  std::filesystem::create_directory_symlink(PERFUSE_SOURCE_DIR "/models", "models");
  example();
  EXPECT_GT(std::filesystem::file_size("output.png"), 1000u);
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

}  // namespace
