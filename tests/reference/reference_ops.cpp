#include "tests/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "perfuse/core/error.h"

namespace perfuse::reference {
namespace {

namespace op = graph::op;

// A tensor in double.
struct Values {
  Shape shape;
  std::vector<double> data;
  DType dtype = DType::f32;  // what it was

  [[nodiscard]] std::size_t size() const { return data.size(); }
  [[nodiscard]] std::size_t dim(std::size_t i) const { return static_cast<std::size_t>(shape[i]); }
  [[nodiscard]] std::size_t last() const { return static_cast<std::size_t>(shape.back()); }
  double& operator[](std::size_t i) { return data[i]; }
  double operator[](std::size_t i) const { return data[i]; }
};
using Operands = std::vector<Values>;

Values to_values(const Tensor& tensor) {
  Values values{tensor.shape(), {}, tensor.dtype()};
  visit_dtype(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (const T x : tensor.data<T>()) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
        values.data.push_back(static_cast<double>(static_cast<float>(x)));
      else
        values.data.push_back(static_cast<double>(x));
    }
  });
  return values;
}

Tensor to_tensor(const Values& values, DType dtype) {
  Tensor tensor = Tensor::empty(dtype, values.shape);
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto out = tensor.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, bool>)
        out[i] = values[i] != 0;
      else if constexpr (std::is_integral_v<T>)
        out[i] = static_cast<T>(static_cast<std::int64_t>(values[i]));
      else if constexpr (std::is_same_v<T, double>)
        out[i] = values[i];
      else
        out[i] = T(static_cast<float>(round_to(dtype, values[i])));
    }
  });
  return tensor;
}

// The element of a tensor of shape `shape` that stands at `index` of a larger index space, by numpy's rule.
std::size_t broadcast_offset(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto at = index[index.size() - shape.size() + i];
    offset = offset * static_cast<std::size_t>(shape[i]) + static_cast<std::size_t>(shape[i] == 1 ? 0 : at);
  }
  return offset;
}

// Calls f(position, index) for every element of a tensor of this shape, in row-major order.
template <class F> void for_each_index(const Shape& shape, const F& f) {
  std::vector<std::int64_t> index(shape.size(), 0);
  const auto count = static_cast<std::size_t>(numel(shape));
  for (std::size_t position = 0; position < count; ++position) {
    f(position, index);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

template <class F> void map(const Values& x, Values& y, const F& f) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(x[i]);
}

void compute(const op::Linear&, const Operands& in, Values& y) {
  const auto &x = in[0], &w = in[1];
  const std::size_t k = x.last(), n = w.dim(0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    double sum = in.size() == 3 ? in[2][i % n] : 0;
    for (std::size_t j = 0; j < k; ++j) sum += x[i / n * k + j] * w[i % n * k + j];
    y[i] = sum;
  }
}

void compute(const op::Conv2d& o, const Operands& in, Values& y) {
  const auto &x = in[0], &w = in[1];
  const auto channels = x.shape[3], height = x.shape[1], width = x.shape[2];
  const auto outputs = w.shape[0], rows = w.shape[1], columns = w.shape[2], depth = w.shape[3];
  for_each_index(y.shape, [&](std::size_t position, const std::vector<std::int64_t>& at) {
    const auto out = at[3], first = out / (outputs / o.groups) * depth;
    double sum = in.size() == 3 ? in[2][static_cast<std::size_t>(out)] : 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t s = 0; s < columns; ++s) {
        const auto v = at[1] * o.stride + r - o.pad_top, u = at[2] * o.stride + s - o.pad_left;
        if (v < 0 || v >= height || u < 0 || u >= width) continue;
        for (std::int64_t c = 0; c < depth; ++c) {
          sum += x[static_cast<std::size_t>(((at[0] * height + v) * width + u) * channels + first + c)] *
                 w[static_cast<std::size_t>(((out * rows + r) * columns + s) * depth + c)];
        }
      }
    }
    y[position] = sum;
  });
}

void compute(const op::GroupNorm& o, const Operands& in, Values& y) {
  const auto& x = in[0];
  const std::size_t images = x.dim(0), channels = x.last(),
                    per_image = x.size() / std::max<std::size_t>(images, 1);
  const std::size_t width = channels / static_cast<std::size_t>(o.groups);
  for (std::size_t image = 0; image < images; ++image) {
    for (std::size_t first = 0; first < channels; first += width) {
      const auto over_group = [&](const auto& f) {
        for (std::size_t row = image * per_image; row < (image + 1) * per_image; row += channels)
          for (std::size_t c = first; c < first + width; ++c) f(row + c, c);
      };
      const auto count = static_cast<double>(per_image / channels * width);
      double mean = 0, variance = 0;
      over_group([&](std::size_t i, std::size_t) { mean += x[i] / count; });
      over_group([&](std::size_t i, std::size_t) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      over_group([&](std::size_t i, std::size_t c) {
        y[i] = (x[i] - mean) / std::sqrt(variance + o.eps) * in[1][c] + in[2][c];
      });
    }
  }
}

void compute(const op::LayerNorm& o, const Operands& in, Values& y) {
  const auto& x = in[0];
  const std::size_t channels = x.last();
  for (std::size_t row = 0; row < x.size(); row += channels) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < channels; ++c) mean += x[row + c] / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c)
      variance += (x[row + c] - mean) * (x[row + c] - mean) / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      y[row + c] = (x[row + c] - mean) / std::sqrt(variance + o.eps);
      if (in.size() == 3) y[row + c] = y[row + c] * in[1][c] + in[2][c];
    }
  }
}

void compute(const op::RmsNorm& o, const Operands& in, Values& y) {
  const auto& x = in[0];
  const std::size_t channels = x.last();
  for (std::size_t row = 0; row < x.size(); row += channels) {
    double squares = 0;
    for (std::size_t c = 0; c < channels; ++c)
      squares += x[row + c] * x[row + c] / static_cast<double>(channels);
    for (std::size_t c = 0; c < channels; ++c)
      y[row + c] = round_to(x.dtype, x[row + c] / std::sqrt(squares + o.eps)) * in[1][c];
  }
}

void softmax(double* values, std::size_t count) {
  const double most = *std::max_element(values, values + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i] = std::exp(values[i] - most);
  for (std::size_t i = 0; i < count; ++i) values[i] /= sum;
}

void compute(const op::Attention& o, const Operands& in, Values& y) {
  const auto &q = in[0], &k = in[1], &v = in[2];
  const auto length = k.shape[1], heads = q.shape[2], groups = k.shape[2], depth = q.shape[3];
  std::vector<double> scores(static_cast<std::size_t>(length));
  for_each_index({q.shape[0], q.shape[1], heads}, [&](std::size_t position,
                                                      const std::vector<std::int64_t>& at) {
    const auto key = [&](std::int64_t t, std::int64_t d) {
      return static_cast<std::size_t>(((at[0] * length + t) * groups + at[2] / (heads / groups)) * depth + d);
    };
    const std::size_t query = position * static_cast<std::size_t>(depth);
    for (std::int64_t t = 0; t < length; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d) score += q[query + static_cast<std::size_t>(d)] * k[key(t, d)];
      score *= o.scale;
      if (in.size() == 4) score += in[3][broadcast_offset(in[3].shape, {at[0], at[2], at[1], t})];
      if (o.causal && t > at[1] + length - q.shape[1]) score = -std::numeric_limits<double>::infinity();
      scores[static_cast<std::size_t>(t)] = score;
    }
    if (std::ranges::all_of(scores,
                            [](double score) { return score == -std::numeric_limits<double>::infinity(); }))
      std::ranges::fill(scores, 0.0);
    else
      softmax(scores.data(), scores.size());
    for (std::int64_t d = 0; d < depth; ++d) {
      double sum = 0;
      for (std::int64_t t = 0; t < length; ++t) sum += scores[static_cast<std::size_t>(t)] * v[key(t, d)];
      y[query + static_cast<std::size_t>(d)] = sum;
    }
  });
}

double unary(op::UnaryKind kind, double x) {
  using Kind = op::UnaryKind;
  switch (kind) {
    case Kind::silu: return x / (1 + std::exp(-x));
    case Kind::gelu: return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
    case Kind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Kind::quick_gelu: return x / (1 + std::exp(-1.702 * x));
    case Kind::relu: return x < 0 ? 0 : x;
    case Kind::sigmoid: return 1 / (1 + std::exp(-x));
    case Kind::tanh: return std::tanh(x);
    case Kind::exp: return std::exp(x);
    case Kind::sqrt: return std::sqrt(x);
    case Kind::square: return x * x;
    case Kind::cos: return std::cos(x);
    case Kind::sin: return std::sin(x);
  }
  fail(ErrorKind::usage, "unary op {} has no reference", static_cast<int>(kind));
}

void compute(const op::Unary& o, const Operands& in, Values& y) {
  map(in[0], y, [&](double x) { return unary(o.kind, x); });
}

// Integer quotients truncate, and a division by 0 gives all ones.
double binary(op::BinaryKind kind, double a, double b, bool integer) {
  using Kind = op::BinaryKind;
  if (std::isnan(a) || std::isnan(b)) return a + b;
  switch (kind) {
    case Kind::add: return a + b;
    case Kind::sub: return a - b;
    case Kind::mul: return a * b;
    case Kind::div: return !integer ? a / b : b == 0 ? -1 : std::trunc(a / b);
    case Kind::maximum: return std::max(a, b);
    case Kind::minimum: return std::min(a, b);
  }
  fail(ErrorKind::usage, "binary op {} has no reference", static_cast<int>(kind));
}

void compute(const op::Binary& o, const Operands& in, Values& y) {
  for_each_index(y.shape, [&](std::size_t position, const std::vector<std::int64_t>& at) {
    y[position] = binary(o.kind, in[0][broadcast_offset(in[0].shape, at)],
                         in[1][broadcast_offset(in[1].shape, at)], !is_floating(in[0].dtype));
  });
}

void compute(const op::Affine& o, const Operands& in, Values& y) {
  map(in[0], y, [&](double x) { return x * o.scale + o.offset; });
}

void compute(const op::Clamp& o, const Operands& in, Values& y) {
  map(in[0], y, [&](double x) { return x < o.least ? o.least : x > o.most ? o.most : x; });
}

void compute(const op::Softmax&, const Operands& in, Values& y) {
  y.data = in[0].data;
  for (std::size_t row = 0; row < y.size(); row += y.last()) softmax(&y[row], y.last());
}

void compute(const op::Reshape&, const Operands& in, Values& y) { y.data = in[0].data; }

void compute(const op::Transpose& o, const Operands& in, Values& y) {
  std::vector<std::int64_t> source(o.axes.size());
  for_each_index(y.shape, [&](std::size_t position, const std::vector<std::int64_t>& at) {
    for (std::size_t i = 0; i < at.size(); ++i) source[static_cast<std::size_t>(o.axes[i])] = at[i];
    y[position] = in[0][broadcast_offset(in[0].shape, source)];
  });
}

void compute(const op::Concat& o, const Operands& in, Values& y) {
  const auto axis = static_cast<std::size_t>(o.axis);
  for_each_index(y.shape, [&](std::size_t position, std::vector<std::int64_t> at) {
    std::size_t part = 0;
    while (at[axis] >= in[part].shape[axis]) at[axis] -= in[part++].shape[axis];
    y[position] = in[part][broadcast_offset(in[part].shape, at)];
  });
}

void compute(const op::Slice& o, const Operands& in, Values& y) {
  for_each_index(y.shape, [&](std::size_t position, std::vector<std::int64_t> at) {
    at[static_cast<std::size_t>(o.axis)] += o.begin;
    y[position] = in[0][broadcast_offset(in[0].shape, at)];
  });
}

void compute(const op::Broadcast&, const Operands& in, Values& y) {
  for_each_index(y.shape, [&](std::size_t position, const std::vector<std::int64_t>& at) {
    y[position] = in[0][broadcast_offset(in[0].shape, at)];
  });
}

void compute(const op::UpsampleNearest& o, const Operands& in, Values& y) {
  const auto& x = in[0];
  for_each_index(y.shape, [&](std::size_t position, const std::vector<std::int64_t>& at) {
    y[position] = x[broadcast_offset(
        x.shape, {at[0], at[1] * x.shape[1] / o.height, at[2] * x.shape[2] / o.width, at[3]})];
  });
}

void compute(const op::Embedding&, const Operands& in, Values& y) {
  const std::size_t channels = in[0].last();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const auto id = static_cast<std::size_t>(in[1][i / channels]);
    y[i] = in[0].data.at(id * channels + i % channels);
  }
}

// Floats truncate to integers and stop at the type's ends, NaN is 0; integers keep their low bits.
void compute(const op::Convert& o, const Operands& in, Values& y) {
  const bool saturates = is_floating(in[0].dtype) && (o.dtype == DType::i32 || o.dtype == DType::u8);
  const double least = o.dtype == DType::u8 ? 0 : -0x1p31, most = o.dtype == DType::u8 ? 255 : 0x1p31 - 1;
  map(in[0], y, [&](double x) {
    if (!saturates) return x;
    return std::isnan(x) ? 0.0 : std::clamp(std::trunc(x), least, most);
  });
}

void compute(const op::TimestepEmbedding& o, const Operands& in, Values& y) {
  const auto half = static_cast<std::size_t>(o.dim / 2);
  const auto divisor = static_cast<float>(static_cast<double>(half) - o.downscale_freq_shift);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t column = i % (2 * half), frequency_index = column % half;
    const float exponent =
        static_cast<float>(-std::log(o.max_period)) * static_cast<float>(frequency_index) / divisor;
    const auto frequency = static_cast<float>(std::exp(static_cast<double>(exponent)));
    const float argument = static_cast<float>(in[0][i / (2 * half)]) * frequency;
    const bool cosine = (column < half) == o.flip_sin_to_cos;
    y[i] = cosine ? std::cos(static_cast<double>(argument)) : std::sin(static_cast<double>(argument));
  }
}

void compute(const op::LinearCombination&, const Operands& in, Values& y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = 0;
    for (std::size_t term = 1; term < in.size(); ++term) y[i] += in[0][term - 1] * in[term][i];
  }
}

}  // namespace

double round_to(DType dtype, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int digits = dtype == DType::f32 ? 24 : dtype == DType::bf16 ? 8 : 11;
  const int least_exponent = dtype == DType::f16 ? -14 : -126;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), least_exponent) - (digits - 1));
  const double rounded = std::nearbyint(value / unit) * unit;
  const double limit = dtype == DType::f16 ? 0x1p16 : 0x1p128;
  return std::abs(rounded) >= limit ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

Tensor evaluate(const graph::Op& op, const std::vector<Tensor>& operands, const graph::ValueType& result) {
  Operands values;
  for (const auto& tensor : operands) values.push_back(to_values(tensor));
  Values y{result.shape, std::vector<double>(static_cast<std::size_t>(result.numel())), result.dtype};
  std::visit([&](const auto& attributes) { compute(attributes, values, y); }, op);
  return to_tensor(y, result.dtype);
}

}  // namespace perfuse::reference
