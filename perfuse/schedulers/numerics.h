// The arithmetic of numpy and torch that diffusers' schedules are made with, rounding included: some
// schedules truncate a computed timestep to an integer, so the last bit can decide which timestep it is.
#pragma once

#include <span>
#include <vector>

namespace perfuse::numerics {

// numpy.linspace(start, stop, count) in f64.
[[nodiscard]] std::vector<double> linspace(double start, double stop, int count);

// torch.linspace(start, stop, count, dtype=float32): from both ends towards the middle, in f32.
[[nodiscard]] std::vector<float> linspace_f32(double start, double stop, int count);

// numpy.interp(x, arange(len(values)), values): the ends are held outside the range.
[[nodiscard]] double interp(double x, std::span<const float> values);

// numpy.log of a positive, finite f32: up to 4 units in the last place from the true value.
[[nodiscard]] float log_f32(float x);

// torch.cumprod of f32: the running product is kept in f64.
[[nodiscard]] std::vector<float> cumprod(std::span<const float> values);

}  // namespace perfuse::numerics
