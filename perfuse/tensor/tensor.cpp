#include "perfuse/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace perfuse {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

std::shared_ptr<std::byte[]> allocate(std::size_t bytes) {
  auto* data = static_cast<std::byte*>(
      ::operator new[](std::max<std::size_t>(bytes, 1), std::align_val_t{kAlignment}, std::nothrow));
  if (data == nullptr) fail(ErrorKind::out_of_memory, "host memory: {} bytes can't be allocated", bytes);
  return {data, [](std::byte* p) { ::operator delete[](p, std::align_val_t{kAlignment}); }};
}

// Through float for the half types, else directly.
template <class To, class From> To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, bfloat16> || std::is_same_v<From, float16>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bfloat16> || std::is_same_v<To, float16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The cast is undefined outside the integer's range: those values become its ends, NaN 0.
    constexpr From kEnd = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);  // exact
    if (std::isnan(value)) return To{};
    if (value >= kEnd) return std::numeric_limits<To>::max();
    if (value < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

int checked_axis(int axis, int rank) {
  const int result = axis < 0 ? axis + rank : axis;
  if (result < 0 || result >= rank)
    fail(ErrorKind::usage, "axis {} is outside a tensor of {} dimensions", axis, rank);
  return result;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const auto size : sizes) result *= size;
  return result;
}

}  // namespace

Tensor::Tensor() : shape_{0} {}

Tensor Tensor::empty(DType dtype, Shape shape) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.numel_ = perfuse::numel(shape);
  tensor.shape_ = std::move(shape);
  tensor.owned_ = allocate(tensor.nbytes());
  tensor.data_ = tensor.owned_.get();
  return tensor;
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor tensor = empty(dtype, std::move(shape));
  std::memset(tensor.owned_.get(), 0, tensor.nbytes());
  return tensor;
}

Tensor Tensor::borrow(DType dtype, Shape shape, const std::byte* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.numel_ = perfuse::numel(shape);
  tensor.shape_ = std::move(shape);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

std::int64_t Tensor::dim(int axis) const {
  return shape_[static_cast<std::size_t>(checked_axis(axis, rank()))];
}

std::size_t Tensor::nbytes() const { return static_cast<std::size_t>(numel_) * size_of(dtype_); }

std::span<std::byte> Tensor::mutable_bytes() {
  if (!owned_ || owned_.use_count() > 1) {
    auto copy = allocate(nbytes());
    if (nbytes() > 0) std::memcpy(copy.get(), data_, nbytes());
    owned_ = std::move(copy);
    owner_.reset();
    data_ = owned_.get();
  }
  return {owned_.get(), nbytes()};
}

void Tensor::check_type(DType wanted) const {
  if (wanted != dtype_)
    fail(ErrorKind::usage, "tensor is {}, read as {}", to_string(dtype_), to_string(wanted));
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor result = empty(dtype, shape_);
  visit_dtype(dtype_, [&](auto from_zero) {
    using From = decltype(from_zero);
    visit_dtype(dtype, [&](auto to_zero) {
      using To = decltype(to_zero);
      const auto in = data<From>();
      auto out = result.mutable_data<To>();
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = convert<To>(in[i]);
    });
  });
  return result;
}

Tensor Tensor::reshape(Shape shape) const {
  if (perfuse::numel(shape) != numel_)
    fail(ErrorKind::usage, "can't reshape {} to {}", perfuse::to_string(shape_), perfuse::to_string(shape));
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::permute(std::span<const int> axes) const {
  if (static_cast<int>(axes.size()) != rank())
    fail(ErrorKind::usage, "permute of {} dimensions given {} axes", rank(), axes.size());
  const auto n = axes.size();
  Shape strides(n, 1), out_shape(n), out_strides(n);
  for (std::size_t i = n; i-- > 1;) strides[i - 1] = strides[i] * shape_[i];
  std::vector<bool> used(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<std::size_t>(checked_axis(axes[i], rank()));
    if (used[axis]) fail(ErrorKind::usage, "permute names axis {} twice", axes[i]);
    used[axis] = true;
    out_shape[i] = shape_[axis];
    out_strides[i] = strides[axis];
  }
  Tensor result = empty(dtype_, out_shape);
  const std::size_t size = size_of(dtype_);
  std::byte* out = result.owned_.get();
  Shape index(n, 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < numel_; ++i, out += size) {
    std::memcpy(out, data_ + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t d = n; d-- > 0;) {
      offset += out_strides[d];
      if (++index[d] < out_shape[d]) break;
      offset -= out_strides[d] * out_shape[d];
      index[d] = 0;
    }
  }
  return result;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  const auto a = static_cast<std::size_t>(checked_axis(axis, rank()));
  if (begin < 0 || end < begin || end > shape_[a])
    fail(ErrorKind::usage, "slice {}:{} is outside dimension {} of {}", begin, end, axis,
         perfuse::to_string(shape_));
  Shape shape = shape_;
  shape[a] = end - begin;
  const std::span<const std::int64_t> sizes(shape_);
  const auto outer = product(sizes.first(a));
  const auto inner = static_cast<std::size_t>(product(sizes.subspan(a + 1))) * size_of(dtype_);
  const std::byte* first = data_ + static_cast<std::size_t>(begin) * inner;
  if (outer == 1) {
    Tensor result = borrow(dtype_, std::move(shape), first, owner_);
    if (owned_) result.owner_ = owned_;
    return result;
  }
  Tensor result = empty(dtype_, std::move(shape));
  const auto row = static_cast<std::size_t>(end - begin) * inner;
  const auto stride = static_cast<std::size_t>(shape_[a]) * inner;
  for (std::size_t i = 0; i < static_cast<std::size_t>(outer); ++i)
    std::memcpy(result.owned_.get() + i * row, first + i * stride, row);
  return result;
}

Tensor Tensor::repeat_interleave(std::int64_t times) const {
  checked_axis(0, rank());
  if (times < 0) fail(ErrorKind::usage, "can't repeat {} times", times);
  if (times == 1) return *this;
  Shape shape = shape_;
  shape[0] = perfuse::numel(std::array{shape[0], times});
  Tensor result = empty(dtype_, std::move(shape));
  const std::size_t row = shape_[0] == 0 ? 0 : nbytes() / static_cast<std::size_t>(shape_[0]);
  std::byte* out = result.owned_.get();
  for (std::int64_t i = 0; i < shape_[0]; ++i)
    for (std::int64_t k = 0; k < times; ++k, out += row)
      std::memcpy(out, data_ + static_cast<std::size_t>(i) * row, row);
  return result;
}

Tensor concat(std::span<const Tensor> parts, int axis) {
  if (parts.empty()) fail(ErrorKind::usage, "concat of no tensors");
  const auto& first = parts.front();
  const auto a = static_cast<std::size_t>(checked_axis(axis, first.rank()));
  Shape shape = first.shape();
  shape[a] = 0;
  for (const auto& part : parts) {
    Shape other = part.shape();
    if (part.dtype() != first.dtype() || other.size() != shape.size())
      fail(ErrorKind::usage, "concat of {} {} with {} {}", to_string(first.dtype()), to_string(first.shape()),
           to_string(part.dtype()), to_string(part.shape()));
    shape[a] += other[a];
    other[a] = first.shape()[a];
    if (other != first.shape())
      fail(ErrorKind::usage, "concat along {} of {} with {}", axis, to_string(first.shape()),
           to_string(part.shape()));
  }
  Tensor result = Tensor::empty(first.dtype(), shape);
  const std::span<const std::int64_t> sizes(shape);
  const auto outer = static_cast<std::size_t>(product(sizes.first(a)));
  std::byte* out = result.mutable_bytes().data();
  for (std::size_t i = 0; i < outer; ++i)
    for (const auto& part : parts) {
      const std::size_t row = part.nbytes() / std::max<std::size_t>(outer, 1);
      if (row > 0) std::memcpy(out, part.bytes().data() + i * row, row);
      out += row;
    }
  return result;
}

Tensor nchw_to_nhwc(const Tensor& tensor) {
  constexpr int axes[] = {0, 2, 3, 1};
  return tensor.permute(axes);
}

Tensor nhwc_to_nchw(const Tensor& tensor) {
  constexpr int axes[] = {0, 3, 1, 2};
  return tensor.permute(axes);
}

namespace {

// True if some value has all bits of `exponent` set, which NaN and infinity alone have. Works on blocks, so
// that the compiler can vectorise: weights are checked at the speed of memory.
template <class Bits> bool has_exponent(std::span<const std::byte> bytes, Bits exponent) {
  constexpr std::size_t kBlock = 1024;
  const std::size_t count = bytes.size() / sizeof(Bits);
  std::array<Bits, kBlock> block;
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t n = std::min(kBlock, count - begin);
    std::memcpy(block.data(), bytes.data() + begin * sizeof(Bits), n * sizeof(Bits));
    Bits found = 0;
    for (std::size_t i = 0; i < n; ++i) found |= static_cast<Bits>((block[i] & exponent) == exponent ? 1 : 0);
    if (found != 0) return true;
  }
  return false;
}

}  // namespace

bool all_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f32: return !has_exponent<std::uint32_t>(tensor.bytes(), 0x7f800000u);
    case DType::bf16: return !has_exponent<std::uint16_t>(tensor.bytes(), 0x7f80u);
    case DType::f16: return !has_exponent<std::uint16_t>(tensor.bytes(), 0x7c00u);
    case DType::f64: return !has_exponent<std::uint64_t>(tensor.bytes(), 0x7ff0000000000000u);
    default: return true;
  }
}

}  // namespace perfuse
