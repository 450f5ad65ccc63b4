#include "perfuse/image/postprocess.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "test_pictures.h"

namespace perfuse {
namespace {

std::vector<float> values_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

TEST(Denormalize, NchwAndNhwc) {
  // channels r = -1, g = x, b = 2 (clamped) of a 1×2 picture
  const Tensor nchw = Tensor::from<float>({1, 3, 1, 2}, {-1, -1, -0.5, 0.25, 2, 2});
  const std::vector<float> expected = {0, 0.25, 1, 0, 0.625, 1};
  const Tensor image = denormalize_to_nhwc(nchw);
  EXPECT_EQ(image.shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(values_of(image), expected);
  EXPECT_EQ(values_of(denormalize_to_nhwc(nchw_to_nhwc(nchw))), expected);
  EXPECT_EQ(nchw.data<float>()[0], -1) << "the input is untouched";
}

TEST(Denormalize, HalfPrecisionRoundsToItsType) {
  // 0.5078125 / 2 + 0.5 = 0.75390625 = 193/256 is a bf16; 0.50390625 / 2 + 0.5 = 0.751953125 is halfway
  // between 192/256 and 193/256 and goes to the even one.
  const Tensor bf16 = Tensor::from<float>({1, 1, 1, 3}, {0.5078125f, 0.50390625f, -3.0f}).to(DType::bf16);
  EXPECT_EQ(values_of(denormalize_to_nhwc(bf16)), (std::vector<float>{0.75390625f, 0.75f, 0.0f}));
  const Tensor f16 = Tensor::from<float>({1, 1, 1, 3}, {0.5f, -0.25f, 7.0f}).to(DType::f16);
  EXPECT_EQ(values_of(denormalize_to_nhwc(f16)), (std::vector<float>{0.75f, 0.375f, 1.0f}));
}

TEST(Denormalize, NotFiniteStaysVisible) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    const Tensor image = denormalize_to_nhwc(Tensor::from<float>({1, 1, 1, 3}, {0, bad, 0}));
    EXPECT_FALSE(std::isfinite(image.data<float>()[1]));
    expect_part(error_of(ErrorKind::model, [&] { static_cast<void>(to_images(image)); }), "channel 1");
  }
}

TEST(Denormalize, RefusesOtherShapesAndTypes) {
  for (const Shape& shape : {Shape{1, 4, 8, 8}, Shape{3, 8, 8}, Shape{}})
    error_of(ErrorKind::usage,
             [&] { static_cast<void>(denormalize_to_nhwc(Tensor::zeros(DType::f32, shape))); });
  error_of(ErrorKind::usage, [] {
    static_cast<void>(denormalize_to_nhwc(Tensor::zeros(DType::i32, {1, 3, 8, 8})));
  });
}

TEST(ToImages, OnePerEntry) {
  std::vector<float> values(2 * 2 * 1 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255.0f;
  const auto images = to_images(Tensor::from({2, 2, 1, 3}, values));
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1].width(), 1);
  EXPECT_EQ(images[1].height(), 2);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(images[1].rgb()[i], 6 + i);
  error_of(ErrorKind::usage, [] { static_cast<void>(to_images(Tensor::zeros(DType::f32, {2, 2, 3}))); });
}

TEST(ResizeAndCrop, SameSizeIsUntouched) {
  const Tensor tensor = Tensor::from<float>({1, 1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(resize_and_crop(tensor, 1, 3).bytes().data(), tensor.bytes().data());
}

TEST(ResizeAndCrop, DoublesByHand) {
  // 2×2 -> 4×4: source positions −0.25 -> 0, 0.25, 0.75, 1.25 (its neighbour is itself), so weights
  // 0, 1/4, 3/4, 1 along each axis.
  const Tensor out = resize_and_crop(Tensor::from<float>({1, 1, 2, 2}, {0, 4, 8, 12}), 4, 4);
  EXPECT_EQ(values_of(out), (std::vector<float>{0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12}));
}

TEST(ResizeAndCrop, ShrinksWithoutAntialiasing) {
  // 8 -> 2, factor 4: source positions 1.5 and 5.5
  std::vector<float> ramp(8 * 8);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i % 8 == 0 ? 1000 : i % 8);
  const Tensor out = resize_and_crop(Tensor::from<float>({1, 1, 8, 8}, ramp), 2, 2);
  EXPECT_EQ(values_of(out), (std::vector<float>{1.5, 5.5, 1.5, 5.5}));
}

TEST(ResizeAndCrop, CropsAboutTheCentre) {
  // 2×4 -> 2×2: ratio max(1, 0.5) = 1, so nothing is scaled, and columns 1 and 2 stay.
  const Tensor wide = Tensor::from<float>({1, 1, 2, 4}, {0, 1, 2, 3, 10, 11, 12, 13});
  EXPECT_EQ(values_of(resize_and_crop(wide, 2, 2)), (std::vector<float>{1, 2, 11, 12}));
  // An odd surplus is halved downwards: 5 -> 2 starts at column 1.
  const Tensor odd = Tensor::from<float>({1, 1, 1, 5}, {0, 1, 2, 3, 4});
  EXPECT_EQ(values_of(resize_and_crop(odd, 1, 2)), (std::vector<float>{1, 2}));
  // Height is cropped where the width decides: 4×2 -> 2×2
  const Tensor tall = Tensor::from<float>({1, 1, 4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values_of(resize_and_crop(tall, 2, 2)), (std::vector<float>{2, 3, 4, 5}));
}

TEST(ResizeAndCrop, TruncatesTheScaledSize) {
  // 3×5 -> 5×8: ratio max(5/3, 8/5) = 5/3, scaled width int(8.33) = 8. Width factor 5/8, in f32 exact:
  // positions 0.625·(i + 0.5) − 0.5.
  std::vector<float> values(3 * 5);
  std::iota(values.begin(), values.end(), 0.0f);
  const Tensor out = resize_and_crop(Tensor::from({1, 1, 3, 5}, values), 5, 8);
  ASSERT_EQ(out.shape(), (Shape{1, 1, 5, 8}));
  for (std::size_t y = 0; y < 5; ++y) {
    for (std::size_t x = 0; x < 8; ++x) {
      const double row = std::clamp(0.6 * (static_cast<double>(y) + 0.5) - 0.5, 0.0, 2.0);
      const double column = std::clamp(0.625 * (static_cast<double>(x) + 0.5) - 0.5, 0.0, 4.0);
      EXPECT_NEAR(out.data<float>()[y * 8 + x], 5 * row + column, 1e-5);
    }
  }
}

TEST(ResizeAndCrop, ARoundedRatioStillCoversTheCrop) {
  // 49·(1/49) is just below 1 in double.
  for (std::int64_t side = 1; side < 200; ++side)
    for (const std::int64_t wanted : {std::int64_t{1}, std::int64_t{7}, std::int64_t{49}, side + 1})
      ASSERT_EQ(resize_and_crop(Tensor::zeros(DType::f32, {1, 1, side, side}), wanted, wanted).shape(),
                (Shape{1, 1, wanted, wanted}));
}

TEST(ResizeAndCrop, PlanesAndTypes) {
  std::vector<float> values(2 * 3 * 2 * 2);
  std::iota(values.begin(), values.end(), 0.0f);
  const Tensor source = Tensor::from({2, 3, 2, 2}, values);
  const Tensor out = resize_and_crop(source, 3, 3);
  ASSERT_EQ(out.shape(), (Shape{2, 3, 3, 3}));
  for (std::size_t plane = 0; plane < 6; ++plane)  // the middle of 3×3 is the mean of 2×2
    EXPECT_FLOAT_EQ(out.data<float>()[9 * plane + 4], static_cast<float>(4 * plane) + 1.5f);
  const Tensor half = resize_and_crop(source.to(DType::bf16), 3, 3);
  EXPECT_EQ(half.dtype(), DType::bf16);
  EXPECT_EQ(values_of(half.to(DType::f32)), values_of(out.to(DType::bf16).to(DType::f32)));
}

TEST(ResizeAndCrop, RefusesWhatMakesNoSense) {
  const auto refused = [](const Tensor& tensor, std::int64_t height, std::int64_t width) {
    error_of(ErrorKind::usage, [&] { static_cast<void>(resize_and_crop(tensor, height, width)); });
  };
  const Tensor tensor = Tensor::zeros(DType::f32, {1, 3, 8, 8});
  refused(tensor, 0, 8);
  refused(tensor, 8, -8);
  refused(tensor, std::int64_t{1} << 40, std::int64_t{1} << 40);
  refused(Tensor::zeros(DType::f32, {3, 8, 8}), 8, 8);
  refused(Tensor::zeros(DType::f32, {1, 3, 0, 8}), 8, 8);
  refused(Tensor::zeros(DType::i32, {1, 3, 8, 8}), 4, 4);
  // A needle becomes a far longer one before the crop; only the crop costs memory.
  EXPECT_EQ(resize_and_crop(Tensor::zeros(DType::f32, {1, 1, 1, 10000}), 10000, 1).shape(),
            (Shape{1, 1, 10000, 1}));
}

}  // namespace
}  // namespace perfuse
