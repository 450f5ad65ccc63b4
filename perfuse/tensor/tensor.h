// Host tensors: dense, row-major, with shared storage that is either owned or borrowed (a mapped
// file). Copying a Tensor copies the handle, not the values.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/tensor/dtype.h"
#include "perfuse/tensor/shape.h"

namespace perfuse {

class Tensor {
 public:
  // No tensor: f32 of shape [0].
  Tensor();

  // Uninitialised, 64-byte aligned. Throws Error(out_of_memory) naming the size.
  [[nodiscard]] static Tensor empty(DType dtype, Shape shape);
  [[nodiscard]] static Tensor zeros(DType dtype, Shape shape);

  // `values` in row-major order; their number must be the shape's product.
  template <class T> [[nodiscard]] static Tensor from(Shape shape, const std::vector<T>& values);

  // Borrows `data`, which `owner` keeps alive. Read-only: mutable_data() copies first.
  [[nodiscard]] static Tensor borrow(DType dtype, Shape shape, const std::byte* data,
                                     std::shared_ptr<const void> owner);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::int64_t dim(int axis) const;  // axis −1 is the last
  [[nodiscard]] int rank() const { return static_cast<int>(shape_.size()); }
  [[nodiscard]] std::int64_t numel() const { return numel_; }
  [[nodiscard]] std::size_t nbytes() const;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, nbytes()}; }
  // Writable bytes; makes an own copy first if the storage is borrowed or shared.
  [[nodiscard]] std::span<std::byte> mutable_bytes();

  // Elements as T; throws Error(usage) if T is not the tensor's type.
  template <class T> [[nodiscard]] std::span<const T> data() const;
  template <class T> [[nodiscard]] std::span<T> mutable_data();

  // Values converted to another type (itself if it is that type). Floats round to nearest even;
  // float to integer truncates towards zero (NaN is 0, what is out of range the nearest end).
  [[nodiscard]] Tensor to(DType dtype) const;
  // Same storage, other shape with the same number of elements.
  [[nodiscard]] Tensor reshape(Shape shape) const;
  // Result dimension i is this tensor's dimension axes[i]; copies.
  [[nodiscard]] Tensor permute(std::span<const int> axes) const;
  // Entries begin…end−1 of `axis`; copies unless axis is the outermost.
  [[nodiscard]] Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;
  // Each outermost entry `times` times in a row (a prompt's embeddings for its images).
  [[nodiscard]] Tensor repeat_interleave(std::int64_t times) const;

 private:
  void check_type(DType wanted) const;

  DType dtype_ = DType::f32;
  Shape shape_;
  std::int64_t numel_ = 0;
  std::shared_ptr<std::byte[]> owned_;  // null where borrowed
  std::shared_ptr<const void> owner_;   // keeps borrowed data alive
  const std::byte* data_ = nullptr;
};

// Joins along `axis`; types and the other sizes must agree.
[[nodiscard]] Tensor concat(std::span<const Tensor> parts, int axis);

// [N, C, H, W] -> [N, H, W, C] and back: the pipeline's edge and files are NCHW, graphs NHWC.
[[nodiscard]] Tensor nchw_to_nhwc(const Tensor& tensor);
[[nodiscard]] Tensor nhwc_to_nchw(const Tensor& tensor);

// True if no element is NaN or infinite (integers always are finite).
[[nodiscard]] bool all_finite(const Tensor& tensor);

template <class T> Tensor Tensor::from(Shape shape, const std::vector<T>& values) {
  Tensor tensor = empty(DTypeOf<T>::value, std::move(shape));
  if (static_cast<std::int64_t>(values.size()) != tensor.numel())
    fail(ErrorKind::usage, "tensor of shape {} takes {} values, got {}", perfuse::to_string(tensor.shape()),
         tensor.numel(), values.size());
  auto out = tensor.mutable_data<T>();
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = values[i];
  return tensor;
}

template <class T> std::span<const T> Tensor::data() const {
  check_type(DTypeOf<T>::value);
  return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(numel_)};
}

template <class T> std::span<T> Tensor::mutable_data() {
  check_type(DTypeOf<T>::value);
  return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<std::size_t>(numel_)};
}

}  // namespace perfuse
