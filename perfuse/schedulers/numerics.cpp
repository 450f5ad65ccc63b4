#include "perfuse/schedulers/numerics.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace perfuse::numerics {

std::vector<double> linspace(double start, double stop, int count) {
  std::vector<double> values(static_cast<std::size_t>(std::max(count, 0)), start);
  if (count < 2) return values;
  const double step = (stop - start) / (count - 1);
  for (int i = 0; i < count; ++i) values[i] = i * step + start;
  values.back() = stop;
  return values;
}

std::vector<float> linspace_f32(double start, double stop, int count) {
  const auto first = static_cast<float>(start);
  const auto last = static_cast<float>(stop);
  std::vector<float> values(static_cast<std::size_t>(std::max(count, 0)), first);
  if (count < 2) return values;
  const float step = (last - first) / static_cast<float>(count - 1);
  for (int i = 0; i < count; ++i) {
    // one rounding: torch's build contracts the product and the sum
    values[i] = i < count / 2 ? std::fma(step, static_cast<float>(i), first)
                              : std::fma(-step, static_cast<float>(count - 1 - i), last);
  }
  return values;
}

double interp(double x, std::span<const float> values) {
  const double top = static_cast<double>(values.size()) - 1;
  if (!(x > 0)) return static_cast<double>(values.front());
  if (x >= top) return static_cast<double>(values.back());
  const auto below = static_cast<std::size_t>(x);
  const auto low = static_cast<double>(values[below]);
  const double slope = static_cast<double>(values[below + 1]) - low;
  return slope * (x - static_cast<double>(below)) + low;
}

float log_f32(float x) {
  // x = m·2^e with √½ < m ≤ √2, log m = P(m − 1) / Q(m − 1): a minimax quotient of fifth degree.
  constexpr float kP[] = {0.0F,
                          1.0F,
                          2.112677543073053063722F,
                          1.480000633576506585156F,
                          3.808837741388407920751e-1F,
                          2.589979117907922693523e-2F};
  constexpr float kQ[] = {1.0F,
                          2.612677543073109236779F,
                          2.453006071784736363091F,
                          9.864942958519418960339e-1F,
                          1.546476374983906719538e-1F,
                          5.875095403124574342950e-3F};
  int exponent = 0;
  float m = std::frexp(x, &exponent);
  if (m <= std::numbers::sqrt2_v<float> / 2) {
    m *= 2;
    --exponent;
  }
  m -= 1;
  float p = kP[5];
  float q = kQ[5];
  for (int i = 4; i >= 0; --i) {
    p = std::fma(p, m, kP[i]);
    q = std::fma(q, m, kQ[i]);
  }
  return std::fma(static_cast<float>(exponent), std::numbers::ln2_v<float>, p / q);
}

std::vector<float> cumprod(std::span<const float> values) {
  std::vector<float> products;
  products.reserve(values.size());
  double product = 1;
  for (const float value : values) {
    product *= static_cast<double>(value);
    products.push_back(static_cast<float>(product));
  }
  return products;
}

}  // namespace perfuse::numerics
