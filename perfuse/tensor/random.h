// torch's CPU random numbers, bit for bit where they are integers and to the last place of log, sin and
// cos where they are normal: the same seed gives the same latents as diffusers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "perfuse/tensor/tensor.h"

namespace perfuse {

// torch.Generator("cpu"). The engine is mt19937 seeded with the low 32 bits of the seed.
class Generator {
 public:
  explicit Generator(std::uint64_t seed);
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  // torch.randn(shape, generator, dtype). f32, bf16, f16, f64.
  [[nodiscard]] Tensor randn(Shape shape, DType dtype = DType::f32);
  // torch.rand: uniform in [0, 1).
  [[nodiscard]] Tensor rand(Shape shape, DType dtype = DType::f32);
  // torch.randint(low, high, shape), i64; low < high.
  [[nodiscard]] Tensor randint(std::int64_t low, std::int64_t high, Shape shape);
  // torch.randperm(n), i64.
  [[nodiscard]] Tensor randperm(std::int64_t n);
  // The next raw 32 bits of the engine.
  std::uint32_t random32();
  std::uint64_t random64();

 private:
  void refill();
  std::uint64_t seed_;
  std::array<std::uint32_t, 624> state_;
  int next_ = 624;
  std::optional<double> cached_normal_;  // the sine that the last scalar draw left over
};

// diffusers' randn_tensor: one generator draws the whole tensor; several draw one batch entry each
// (their number must be shape[0]); a list of one is that one.
[[nodiscard]] Tensor randn_tensor(const Shape& shape, std::span<Generator> generators, DType dtype);

}  // namespace perfuse
