#include "tests/support/golden.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace perfuse::test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

template <class Reduce> double difference(const Tensor& a, const Tensor& b, Reduce reduce) {
  if (a.shape() != b.shape()) return kInfinite;
  const Tensor x = a.to(DType::f64), y = b.to(DType::f64);
  double result = 0.0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.numel()); ++i) {
    const double d = std::abs(x.data<double>()[i] - y.data<double>()[i]);
    if (std::isnan(d)) return kInfinite;
    result = reduce(result, d);
  }
  return result;
}

double largest(const Tensor& tensor) {
  const Tensor values = tensor.to(DType::f64);
  double most = 0.0;
  for (const double v : values.data<double>()) most = std::max(most, std::abs(v));
  return most;
}

}  // namespace

std::filesystem::path data_folder() { return PERFUSE_TEST_DATA; }

Golden Golden::open(const std::string& name) {
  const auto base = data_folder() / "golden" / name;
  return {SafetensorsFile::open(base.string() + ".safetensors"), read_json(base.string() + ".json")};
}

double Golden::tolerance(const std::string& key) const {
  const double scale = 2e-6 * largest(tensors.tensor(key));
  if (!json.contains("noise_floor_f32_vs_f64")) return scale;
  const auto& floors = json.at("noise_floor_f32_vs_f64");
  return floors.contains(key) ? std::max(10.0 * floors.at(key).at("max").get<double>(), scale) : scale;
}

double max_difference(const Tensor& a, const Tensor& b) {
  return difference(a, b, [](double most, double d) { return std::max(most, d); });
}

double mean_difference(const Tensor& a, const Tensor& b) {
  const double sum = difference(a, b, [](double total, double d) { return total + d; });
  return sum / static_cast<double>(std::max<std::int64_t>(a.numel(), 1));
}

::testing::AssertionResult near_golden(const Tensor& actual, const Golden& golden, const std::string& key) {
  const Tensor expected = golden[key];
  if (actual.shape() != expected.shape())
    return ::testing::AssertionFailure()
           << key << ": shape " << to_string(actual.shape()) << ", expected " << to_string(expected.shape());
  const double off = max_difference(actual, expected), allowed = golden.tolerance(key);
  if (!(off <= allowed))
    return ::testing::AssertionFailure() << key << ": off by " << off << ", allowed " << allowed;
  return ::testing::AssertionSuccess() << key << ": off by " << off << " of " << allowed;
}

::testing::AssertionResult same_integers(const Tensor& actual, const Tensor& expected) {
  if (actual.shape() != expected.shape())
    return ::testing::AssertionFailure()
           << "shape " << to_string(actual.shape()) << ", expected " << to_string(expected.shape());
  const Tensor x = actual.to(DType::i64), y = expected.to(DType::i64);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.numel()); ++i)
    if (x.data<std::int64_t>()[i] != y.data<std::int64_t>()[i])
      return ::testing::AssertionFailure()
             << "at " << i << ": " << x.data<std::int64_t>()[i] << ", expected " << y.data<std::int64_t>()[i];
  return ::testing::AssertionSuccess();
}

}  // namespace perfuse::test
