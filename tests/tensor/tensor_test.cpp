#include "perfuse/tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/scratch.h"

namespace perfuse {
namespace {

using test::message_of;

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

template <class Half> Half from_bits(unsigned bits) {
  Half half;
  half.bits = static_cast<std::uint16_t>(bits);
  return half;
}

// Every half value survives the way to float and back; a NaN stays a NaN of its sign.
template <class Half> void expect_round_trips(unsigned exponent_mask) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto value = static_cast<float>(from_bits<Half>(bits));
    const unsigned back = Half(value).bits;
    if ((bits & 0x7fffu) > exponent_mask) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_GT(back & 0x7fffu, exponent_mask) << bits;
      ASSERT_EQ(back & 0x8000u, bits & 0x8000u) << bits;
    } else {
      ASSERT_EQ(back, bits);
    }
  }
}

// Between each two neighbours: just below the middle goes down, the middle to the even one, just above up.
template <class Half> void expect_nearest_even(unsigned infinity) {
  for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
    const auto low = static_cast<double>(static_cast<float>(from_bits<Half>(bits)));
    const auto high = static_cast<double>(static_cast<float>(from_bits<Half>(bits + 1)));
    const auto middle = static_cast<float>((low + high) / 2);  // exact: a float has more bits than either
    for (const float sign : {1.0f, -1.0f}) {
      const unsigned s = sign < 0 ? 0x8000u : 0;
      ASSERT_EQ(Half(sign * middle).bits, s | (bits + (bits & 1))) << bits;
      ASSERT_EQ(Half(sign * std::nextafter(middle, 0.0f)).bits, s | bits) << bits;
      ASSERT_EQ(Half(sign * std::nextafter(middle, HUGE_VALF)).bits, s | (bits + 1)) << bits;
    }
  }
}

TEST(Half, EveryValueRoundTrips) {
  expect_round_trips<float16>(0x7c00);
  expect_round_trips<bfloat16>(0x7f80);
}

TEST(Half, RoundsToNearestEven) {
  expect_nearest_even<float16>(0x7c00);
  expect_nearest_even<bfloat16>(0x7f80);
}

TEST(Half, KnownValues) {
  EXPECT_EQ(float16(1.0f).bits, 0x3c00);
  EXPECT_EQ(float16(-2.0f).bits, 0xc000);
  EXPECT_EQ(float16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(float16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(float16(-1e30f).bits, 0xfc00);
  EXPECT_EQ(float16(0x1p-24f).bits, 0x0001);  // the smallest subnormal
  EXPECT_EQ(float16(0x1p-25f).bits, 0x0000);  // half of it: to even
  EXPECT_EQ(float16(0x1.8p-24f).bits, 0x0002);
  EXPECT_EQ(float16(-0.0f).bits, 0x8000);
  EXPECT_EQ(static_cast<float>(from_bits<float16>(0x0001)), 0x1p-24f);
  EXPECT_EQ(static_cast<float>(from_bits<float16>(0x03ff)), 0x1.ff8p-15f);
  EXPECT_EQ(bfloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(bfloat16(as_float(0x3f808000)).bits, 0x3f80);  // tie: to even
  EXPECT_EQ(bfloat16(as_float(0x3f818000)).bits, 0x3f82);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(bfloat16(as_float(0x7f800001)).bits,
            0x7fc0);  // a NaN whose kept bits are 0 must not become infinity
  EXPECT_EQ(bfloat16(as_float(0xff800001)).bits, 0xffc0);
}

TEST(DTypes, NamesAndSizes) {
  const std::tuple<DType, std::string_view, std::size_t, bool> cases[] = {
      {DType::f32, "f32", 4, true},  {DType::bf16, "bf16", 2, true}, {DType::f16, "f16", 2, true},
      {DType::i32, "i32", 4, false}, {DType::u8, "u8", 1, false},    {DType::boolean, "bool", 1, false},
      {DType::i64, "i64", 8, false}, {DType::f64, "f64", 8, true},
  };
  for (const auto& [dtype, name, size, floating] : cases) {
    EXPECT_EQ(to_string(dtype), name);
    EXPECT_EQ(parse_dtype(name), dtype);
    EXPECT_EQ(size_of(dtype), size);
    EXPECT_EQ(is_floating(dtype), floating);
  }
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(parse_dtype("bfloat16"), DType::bf16);
  EXPECT_EQ(parse_dtype("fp16"), DType::f16);
  EXPECT_EQ(parse_dtype("int64"), DType::i64);
  EXPECT_EQ(parse_dtype("F32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(Shapes, ProductsAreChecked) {
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{2, 3, 4}), 24);
  EXPECT_EQ(numel(Shape{2, 0, 4}), 0);
  EXPECT_EQ(to_string(Shape{1, 4, 64}), "[1, 4, 64]");
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [] {
                         (void)numel(Shape{2, -1});
                       }),
            "shape [2, -1] has a negative size");
  // 2^32 · 2^32 is 0 in 64 bits.
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [] {
                         (void)numel(Shape{std::int64_t{1} << 32, std::int64_t{1} << 32});
                       }),
            "shape [4294967296, 4294967296] is too large");
}

std::vector<float> counting(std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

template <class T> std::vector<T> values_of(const Tensor& tensor) {
  const auto data = tensor.data<T>();
  return {data.begin(), data.end()};
}

TEST(Tensors, BasicsAndAlignment) {
  EXPECT_EQ(Tensor().numel(), 0);
  EXPECT_EQ(Tensor().shape(), Shape{0});
  const auto t = Tensor::from<float>({2, 3}, counting(6));
  EXPECT_EQ(t.rank(), 2);
  EXPECT_EQ(t.dim(-1), 3);
  EXPECT_EQ(t.nbytes(), 24u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.bytes().data()) % 64, 0u);
  EXPECT_EQ(values_of<std::int64_t>(Tensor::zeros(DType::i64, {2})), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(Tensor::empty(DType::f32, {}).numel(), 1);
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.data<double>(); }), "tensor is f32, read as f64");
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.dim(2); }),
            "axis 2 is outside a tensor of 2 dimensions");
  EXPECT_EQ(message_of(ErrorKind::usage, [] { (void)Tensor::from<float>({2}, {1.0f}); }),
            "tensor of shape [2] takes 2 values, got 1");
  EXPECT_TRUE(test::contains(
      message_of(ErrorKind::out_of_memory, [] { (void)Tensor::empty(DType::f64, {std::int64_t{1} << 47}); }),
      "1125899906842624 bytes"));
}

TEST(Tensors, CopiesShareUntilWritten) {
  auto a = Tensor::from<float>({3}, {1, 2, 3});
  auto b = a;
  EXPECT_EQ(a.bytes().data(), b.bytes().data());
  b.mutable_data<float>()[0] = 9;
  EXPECT_EQ(values_of<float>(a), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values_of<float>(b), (std::vector<float>{9, 2, 3}));
  const auto* before = b.bytes().data();
  b.mutable_data<float>()[1] = 8;  // alone: in place
  EXPECT_EQ(b.bytes().data(), before);
}

TEST(Tensors, BorrowedDataIsNeverWritten) {
  const auto owner = std::make_shared<const std::vector<float>>(std::vector<float>{1, 2});
  std::weak_ptr<const std::vector<float>> watch = owner;
  auto t = Tensor::borrow(DType::f32, {2}, reinterpret_cast<const std::byte*>(owner->data()), owner);
  EXPECT_EQ(watch.use_count(), 2);
  t.mutable_data<float>()[0] = 5;
  EXPECT_EQ((*owner)[0], 1.0f);
  EXPECT_EQ(values_of<float>(t), (std::vector<float>{5, 2}));
  EXPECT_EQ(watch.use_count(), 1);  // the copy lets go of the owner
}

TEST(Tensors, ConvertsBetweenAllTypes) {
  constexpr std::array kAll{DType::f32, DType::bf16,    DType::f16, DType::i32,
                            DType::u8,  DType::boolean, DType::i64, DType::f64};
  const auto small = Tensor::from<float>({2}, {0, 1});  // in every type
  for (const auto from : kAll)
    for (const auto to : kAll) {
      const Tensor result = small.to(from).to(to);
      EXPECT_EQ(result.dtype(), to);
      EXPECT_EQ(values_of<float>(result.to(DType::f32)), (std::vector<float>{0, 1}))
          << to_string(from) << to_string(to);
    }
  EXPECT_EQ(small.to(DType::f32).bytes().data(), small.bytes().data());
}

TEST(Tensors, FloatsBecomeIntegersWithoutUndefinedBehaviour) {
  const auto t = Tensor::from<float>({8}, {1.9f, -1.9f, 300, -0.5f, NAN, INFINITY, -INFINITY, 1e20f});
  constexpr auto kMost32 = std::numeric_limits<std::int32_t>::max(),
                 kLeast32 = std::numeric_limits<std::int32_t>::min();
  constexpr auto kMost64 = std::numeric_limits<std::int64_t>::max(),
                 kLeast64 = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(values_of<std::int32_t>(t.to(DType::i32)),
            (std::vector<std::int32_t>{1, -1, 300, 0, 0, kMost32, kLeast32, kMost32}));
  EXPECT_EQ(values_of<std::int64_t>(t.to(DType::f64).to(DType::i64)),
            (std::vector<std::int64_t>{1, -1, 300, 0, 0, kMost64, kLeast64, kMost64}));
  EXPECT_EQ(values_of<std::uint8_t>(t.to(DType::u8)),
            (std::vector<std::uint8_t>{1, 0, 255, 0, 0, 255, 0, 255}));
  EXPECT_EQ(values_of<bool>(t.to(DType::boolean)),
            (std::vector<bool>{true, true, true, true, true, true, true, true}));
  EXPECT_EQ(values_of<bool>(Tensor::from<float>({2}, {-0.0f, 0x1p-149f}).to(DType::boolean)),
            (std::vector<bool>{false, true}));
}

TEST(Tensors, Reshape) {
  const auto t = Tensor::from<float>({2, 3}, counting(6));
  EXPECT_EQ(t.reshape({3, 2}).bytes().data(), t.bytes().data());
  EXPECT_EQ(t.reshape({6}).shape(), Shape{6});
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.reshape({4}); }), "can't reshape [2, 3] to [4]");
}

TEST(Tensors, PermuteMatchesTheDefinition) {
  const Shape shape{2, 3, 4, 5};
  const auto t = Tensor::from<float>(shape, counting(120));
  std::array<int, 4> axes{0, 1, 2, 3};
  do {
    const auto p = t.permute(axes);
    const auto data = p.data<float>();
    std::size_t i = 0;
    std::array<std::int64_t, 4> at{};
    for (at[0] = 0; at[0] < p.dim(0); ++at[0])
      for (at[1] = 0; at[1] < p.dim(1); ++at[1])
        for (at[2] = 0; at[2] < p.dim(2); ++at[2])
          for (at[3] = 0; at[3] < p.dim(3); ++at[3], ++i) {
            std::array<std::int64_t, 4> source{};
            for (std::size_t d = 0; d < 4; ++d) source[static_cast<std::size_t>(axes[d])] = at[d];
            ASSERT_EQ(data[i],
                      static_cast<float>(((source[0] * 3 + source[1]) * 4 + source[2]) * 5 + source[3]));
          }
  } while (std::next_permutation(axes.begin(), axes.end()));
}

TEST(Tensors, PermuteChecksAxes) {
  const auto t = Tensor::from<float>({2, 3}, counting(6));
  EXPECT_EQ(values_of<float>(t.permute(std::array{-1, 0})), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.permute(std::array{0}); }),
            "permute of 2 dimensions given 1 axes");
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [&] {
                         (void)t.permute(std::array{0, 0});
                       }),
            "permute names axis 0 twice");
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [&] {
                         (void)t.permute(std::array{0, 2});
                       }),
            "axis 2 is outside a tensor of 2 dimensions");
  EXPECT_EQ(Tensor::empty(DType::f32, {0, 3}).permute(std::array{1, 0}).shape(), (Shape{3, 0}));
  EXPECT_EQ(Tensor::from<float>({}, {7}).permute(std::array<int, 0>{}).data<float>()[0], 7.0f);
}

TEST(Tensors, ImageLayouts) {
  const auto nchw = Tensor::from<std::int32_t>({1, 2, 2, 2}, {0, 1, 2, 3, 10, 11, 12, 13});
  const auto nhwc = nchw_to_nhwc(nchw);
  EXPECT_EQ(values_of<std::int32_t>(nhwc), (std::vector<std::int32_t>{0, 10, 1, 11, 2, 12, 3, 13}));
  EXPECT_EQ(values_of<std::int32_t>(nhwc_to_nchw(nhwc)), values_of<std::int32_t>(nchw));
}

TEST(Tensors, Slice) {
  const auto t = Tensor::from<float>({2, 3, 2}, counting(12));
  EXPECT_EQ(values_of<float>(t.slice(0, 1, 2)), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(t.slice(0, 1, 2).bytes().data(), t.bytes().data() + 24);  // a view
  EXPECT_EQ(values_of<float>(t.slice(1, 1, 3)), (std::vector<float>{2, 3, 4, 5, 8, 9, 10, 11}));
  EXPECT_EQ(values_of<float>(t.slice(-1, 0, 1)), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(t.slice(1, 2, 2).shape(), (Shape{2, 0, 2}));
  EXPECT_EQ(Tensor().slice(0, 0, 0).shape(), Shape{0});
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.slice(1, 2, 4); }),
            "slice 2:4 is outside dimension 1 of [2, 3, 2]");
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.slice(1, -1, 2); }),
            "slice -1:2 is outside dimension 1 of [2, 3, 2]");
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.slice(1, 2, 1); }),
            "slice 2:1 is outside dimension 1 of [2, 3, 2]");
}

TEST(Tensors, ASliceOutlivesItsTensorAndIsNotWrittenThrough) {
  Tensor view;
  {
    auto t = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
    view = t.slice(0, 1, 2);
    t.mutable_data<float>()[2] = 99;  // copies: the view holds the storage
  }
  EXPECT_EQ(values_of<float>(view), (std::vector<float>{3, 4}));
  auto copy = view;
  copy.mutable_data<float>()[0] = 0;
  EXPECT_EQ(values_of<float>(view), (std::vector<float>{3, 4}));
}

TEST(Tensors, Concat) {
  const auto a = Tensor::from<float>({2, 1}, {1, 2});
  const auto b = Tensor::from<float>({2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(values_of<float>(concat(std::array{a, b}, 1)), (std::vector<float>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(values_of<float>(concat(std::array{a, a}, 0)), (std::vector<float>{1, 2, 1, 2}));
  EXPECT_EQ(concat(std::array{a, b}, -1).shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of<float>(concat(std::array{Tensor(), Tensor::from<float>({1}, {7})}, 0)),
            std::vector<float>{7});
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [&] {
                         (void)concat(std::array{a, b}, 0);
                       }),
            "concat along 0 of [2, 1] with [2, 2]");
  EXPECT_EQ(message_of(ErrorKind::usage,
                       [&] {
                         (void)concat(std::array{a, a.to(DType::f16)}, 0);
                       }),
            "concat of f32 [2, 1] with f16 [2, 1]");
  EXPECT_EQ(message_of(ErrorKind::usage, [] { (void)concat({}, 0); }), "concat of no tensors");
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)concat(std::array{a}, 2); }),
            "axis 2 is outside a tensor of 2 dimensions");
}

TEST(Tensors, RepeatInterleave) {
  const auto t = Tensor::from<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values_of<float>(t.repeat_interleave(2)), (std::vector<float>{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(t.repeat_interleave(2).shape(), (Shape{4, 2}));
  EXPECT_EQ(t.repeat_interleave(1).bytes().data(), t.bytes().data());
  EXPECT_EQ(t.repeat_interleave(0).shape(), (Shape{0, 2}));
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.repeat_interleave(-1); }), "can't repeat -1 times");
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { (void)t.repeat_interleave(INT64_MAX); }),
            "shape [2, 9223372036854775807] is too large");
  EXPECT_EQ(message_of(ErrorKind::usage, [] { (void)Tensor::from<float>({}, {1}).repeat_interleave(2); }),
            "axis 0 is outside a tensor of 0 dimensions");
}

TEST(Tensors, AllFinite) {
  for (const auto dtype : {DType::f32, DType::f64, DType::bf16, DType::f16}) {
    EXPECT_TRUE(all_finite(Tensor::from<float>({2}, {0, -1}).to(dtype)));
    EXPECT_FALSE(all_finite(Tensor::from<float>({2}, {0, NAN}).to(dtype)));
    EXPECT_FALSE(all_finite(Tensor::from<float>({2}, {-INFINITY, 0}).to(dtype)));
  }
  EXPECT_TRUE(all_finite(Tensor::from<std::int32_t>({1}, {1})));
  EXPECT_FALSE(all_finite(Tensor::from<float>({1}, {1e6f}).to(DType::f16)));
  EXPECT_TRUE(all_finite(Tensor()));
}

}  // namespace
}  // namespace perfuse
