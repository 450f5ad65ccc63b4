#include "perfuse/tensor/random.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfuse {
namespace {

// torch fills from 16 values on in blocks of 16, below that one value at a time: two different streams.
constexpr std::size_t kBlock = 16;

// In [0, 1): 53 bits of a 64-bit word, or 24 of a 32-bit one.
template <class T> T uniform(Generator& generator) {
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(generator.random64() & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
  else
    return static_cast<float>(generator.random32() & ((1u << 24) - 1)) * 0x1p-24F;
}

// Box-Muller in place: value j (radius) pairs with j + 8 (angle). 1 − u is in (0, 1], so log is finite.
template <class T> void normal_block(T* values) {
  constexpr std::size_t kHalf = kBlock / 2;
  for (std::size_t j = 0; j < kHalf; ++j) {
    const T radius = std::sqrt(T{-2} * std::log(T{1} - values[j]));
    const T angle = T{2} * std::numbers::pi_v<T> * values[j + kHalf];
    values[j] = radius * std::cos(angle);
    values[j + kHalf] = radius * std::sin(angle);
  }
}

// f32 and f64, 16 values or more: all uniforms come first, and a part block at the end is made by
// redrawing the last 16 values, so n + 16 uniforms are used.
template <class T> void fill_normal(std::span<T> values, Generator& generator) {
  for (auto& value : values) value = uniform<T>(generator);
  for (std::size_t i = 0; i + kBlock <= values.size(); i += kBlock) normal_block(values.data() + i);
  if (values.size() % kBlock == 0) return;
  const auto tail = values.last(kBlock);
  for (auto& value : tail) value = uniform<T>(generator);
  normal_block(tail.data());
}

// f16 and bf16: f32 rounded, but block by block, so the redrawn tail follows the last full block.
template <class T> void fill_normal_rounded(std::span<T> values, Generator& generator) {
  std::array<float, kBlock> block;
  const auto fill = [&](std::size_t begin) {
    for (auto& value : block) value = uniform<float>(generator);
    normal_block(block.data());
    for (std::size_t j = 0; j < kBlock; ++j) values[begin + j] = T(block[j]);
  };
  for (std::size_t i = 0; i + kBlock <= values.size(); i += kBlock) fill(i);
  if (values.size() % kBlock != 0) fill(values.size() - kBlock);
}

template <class T> constexpr bool kIsHalf = std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

template <class T> T from_double(double value) {
  if constexpr (kIsHalf<T>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

// Calls f with a zero of the floating type `dtype`.
template <class F> void visit_floating(DType dtype, const char* what, const F& f) {
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsHalf<T> || std::is_floating_point_v<T>)
      f(zero);
    else
      fail(ErrorKind::usage, "{} makes floating-point numbers, not {}", what, to_string(dtype));
  });
}

}  // namespace

Generator::Generator(std::uint64_t seed) : seed_(seed) {
  state_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < state_.size(); ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

void Generator::refill() {
  constexpr std::size_t kShift = 397;
  const std::size_t n = state_.size();
  const auto twist = [this](std::size_t i, std::size_t next, std::size_t other) {
    const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[next] & 0x7fffffffu);
    state_[i] = state_[other] ^ (y >> 1) ^ ((y & 1u) ? 0x9908b0dfu : 0u);
  };
  for (std::size_t i = 0; i < n - kShift; ++i) twist(i, i + 1, i + kShift);
  for (std::size_t i = n - kShift; i < n - 1; ++i) twist(i, i + 1, i + kShift - n);
  twist(n - 1, 0, kShift - 1);
  next_ = 0;
}

std::uint32_t Generator::random32() {
  if (next_ == static_cast<int>(state_.size())) refill();
  std::uint32_t y = state_[static_cast<std::size_t>(next_++)];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

std::uint64_t Generator::random64() {
  const std::uint64_t high = random32();
  return (high << 32) | random32();
}

Tensor Generator::randn(Shape shape, DType dtype) {
  Tensor result = Tensor::empty(dtype, std::move(shape));
  visit_floating(dtype, "randn", [&](auto zero) {
    using T = decltype(zero);
    const auto values = result.mutable_data<T>();
    if (values.size() >= kBlock) {
      if constexpr (kIsHalf<T>)
        fill_normal_rounded(values, *this);
      else
        fill_normal(values, *this);
      return;
    }
    for (auto& value : values) {
      if (cached_normal_) {
        value = from_double<T>(*cached_normal_);
        cached_normal_.reset();
        continue;
      }
      const double angle = 2.0 * std::numbers::pi * uniform<double>(*this);
      const double radius = std::sqrt(-2.0 * std::log1p(-uniform<double>(*this)));
      cached_normal_ = radius * std::sin(angle);
      value = from_double<T>(radius * std::cos(angle));
    }
  });
  return result;
}

Tensor Generator::rand(Shape shape, DType dtype) {
  Tensor result = Tensor::empty(dtype, std::move(shape));
  visit_floating(dtype, "rand", [&](auto zero) {
    using T = decltype(zero);
    for (auto& value : result.mutable_data<T>()) {
      if constexpr (kIsHalf<T>) {
        // f32 rounded. 1 is outside the range, yet rounding gives it about once in 512 (bf16) or 4096 (f16):
        // then 0, as torch has it on GPUs; what its CPU code gives there has not been recorded.
        const T rounded(uniform<float>(*this));
        value = static_cast<float>(rounded) < 1.0F ? rounded : T(0.0F);
      } else {
        value = uniform<T>(*this);
      }
    }
  });
  return result;
}

Tensor Generator::randint(std::int64_t low, std::int64_t high, Shape shape) {
  if (low >= high) fail(ErrorKind::usage, "randint takes low < high, got low {} and high {}", low, high);
  Tensor result = Tensor::empty(DType::i64, std::move(shape));
  // Unsigned throughout: high − low may pass the signed range. torch switches to 64-bit words at 2^28.
  const auto base = static_cast<std::uint64_t>(low);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - base;
  const bool wide = range >= (std::uint64_t{1} << 28);
  for (auto& value : result.mutable_data<std::int64_t>())
    value = static_cast<std::int64_t>((wide ? random64() : random32()) % range + base);
  return result;
}

Tensor Generator::randperm(std::int64_t n) {
  // Above this torch draws otherwise.
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max() / 20;
  if (n < 0 || n >= kMost) fail(ErrorKind::usage, "randperm takes 0 to {} values, got {}", kMost - 1, n);
  Tensor result = Tensor::empty(DType::i64, {n});
  const auto values = result.mutable_data<std::int64_t>();
  std::iota(values.begin(), values.end(), 0);
  for (std::size_t i = 0; i + 1 < values.size(); ++i)
    std::swap(values[i], values[i + random32() % (values.size() - i)]);
  return result;
}

Tensor randn_tensor(const Shape& shape, std::span<Generator> generators, DType dtype) {
  if (generators.size() == 1) return generators.front().randn(shape, dtype);
  if (shape.empty() || generators.empty() || static_cast<std::int64_t>(generators.size()) != shape[0])
    fail(ErrorKind::usage,
         "{} random generators for a batch of shape {}: expected one, or one per batch entry",
         generators.size(), to_string(shape));
  Shape entry = shape;
  entry[0] = 1;
  std::vector<Tensor> parts;
  for (auto& generator : generators) parts.push_back(generator.randn(entry, dtype));
  return concat(parts, 0);
}

}  // namespace perfuse
