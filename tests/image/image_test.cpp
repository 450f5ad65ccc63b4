#include "perfuse/image/image.h"

#include <jpeglib.h>
#include <png.h>

#include <cmath>
#include <limits>

#include "test_pictures.h"

namespace perfuse {
namespace {

struct Decoded {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
};

Decoded decode_png(const std::string& bytes) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()), 0) << png.message;
  EXPECT_EQ(png.format, unsigned{PNG_FORMAT_RGB});
  Decoded decoded{static_cast<int>(png.width), static_cast<int>(png.height), {}};
  decoded.rgb.resize(PNG_IMAGE_SIZE(png));
  EXPECT_NE(png_image_finish_read(&png, nullptr, decoded.rgb.data(), 0, nullptr), 0) << png.message;
  return decoded;
}

Decoded decode_jpeg(const std::string& bytes) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // ends the test program on an error
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  Decoded decoded{static_cast<int>(info.output_width), static_cast<int>(info.output_height), {}};
  decoded.rgb.resize(std::size_t{3} * info.output_width * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = decoded.rgb.data() + std::size_t{3} * info.output_scanline * info.output_width;
    jpeg_read_scanlines(&info, &row, 1);
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return decoded;
}

void expect_same(const Decoded& decoded, const Image& image) {
  EXPECT_EQ(decoded.width, image.width());
  EXPECT_EQ(decoded.height, image.height());
  EXPECT_TRUE(std::equal(decoded.rgb.begin(), decoded.rgb.end(), image.rgb().begin(), image.rgb().end()));
}

TEST(Image, SizesMustMatch) {
  expect_part(error_of(ErrorKind::usage, [] { Image(0, 4, {}); }), "0×4");
  expect_part(error_of(ErrorKind::usage, [] { Image(4, -1, {}); }), "4×-1");
  expect_part(error_of(ErrorKind::usage, [] { Image(2, 2, std::vector<std::uint8_t>(11)); }),
              "takes 12 bytes, got 11");
  constexpr int kMost = std::numeric_limits<int>::max();
  expect_part(error_of(ErrorKind::usage, [] { Image(kMost, kMost, {1, 2, 3}); }), "got 3");
  EXPECT_TRUE(Image().empty());
}

TEST(Image, FromTensorRoundsHalfToEven) {
  // 255·x in f32 is exactly n + 0.5 for these x = (n + 0.5)/255 (checked here), so the even neighbour wins.
  const std::vector<std::pair<float, int>> cases = {{0.0f, 0},   {1.0f, 255},  {0.5f, 128},  // 127.5 -> 128
                                                    {0.1f, 26},                              // 25.5 -> 26
                                                    {0.3f, 76},                              // 76.5 -> 76
                                                    {0.25f, 64}, {0.75f, 191}, {-0.2f, 0},  {1.7f, 255}};
  std::vector<float> values;
  for (const auto& [value, expected] : cases) values.push_back(value);
  const Image image = Image::from_tensor(Tensor::from({1, 3, 3}, values));
  EXPECT_EQ(image.width(), 3);
  EXPECT_EQ(image.height(), 1);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(int{image.rgb()[i]}, cases[i].second) << cases[i].first;

  // Every n + 0.5 that f32 can reach exactly goes to the even neighbour, both down and up.
  int down = 0, up = 0;
  for (int n = 0; n < 255; ++n) {
    const float x = (static_cast<float>(n) + 0.5f) / 255.0f;
    if (x * 255.0f != static_cast<float>(n) + 0.5f) continue;
    const Image one = Image::from_tensor(Tensor::from({1, 1, 3}, std::vector<float>{x, x, x}));
    EXPECT_EQ(int{one.rgb()[0]}, n % 2 == 0 ? n : n + 1) << n;
    ++(n % 2 == 0 ? down : up);
  }
  EXPECT_EQ(down, 128);
  EXPECT_EQ(up, 127);
}

TEST(Image, FromTensorKeepsRowsAndChannels) {
  std::vector<float> values(2 * 3 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 255.0f;
  const Image image = Image::from_tensor(Tensor::from({2, 3, 3}, values));
  EXPECT_EQ(image.width(), 3);
  EXPECT_EQ(image.height(), 2);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(image.rgb()[i], i);
}

TEST(Image, FromTensorRefusesOtherShapesAndTypes) {
  for (const Shape& shape :
       {Shape{3, 2, 2}, Shape{2, 2}, Shape{1, 2, 2, 3}, Shape{0, 2, 3}, Shape{2, 0, 3}, Shape{}})
    expect_part(error_of(ErrorKind::usage,
                         [&] { static_cast<void>(Image::from_tensor(Tensor::zeros(DType::f32, shape))); }),
                to_string(shape));
  expect_part(error_of(ErrorKind::usage,
                       [] {
                         static_cast<void>(Image::from_tensor(Tensor::zeros(DType::bf16, {2, 2, 3})));
                       }),
              "bf16");
}

TEST(Image, FromTensorSaysWhereAValueIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    std::vector<float> values(4 * 5 * 3, 0.5f);
    values[(2 * 5 + 4) * 3 + 1] = bad;
    const std::string message = error_of(ErrorKind::model, [&] {
      static_cast<void>(Image::from_tensor(Tensor::from({4, 5, 3}, values)));
    });
    expect_part(message, "row 2, column 4, channel 1");
    expect_part(message, std::isnan(bad) ? "nan" : "inf");
  }
}

TEST(Image, PngRoundTrip) {
  const TemporaryFolder folder;
  for (const auto& [width, height] : {std::pair{1, 1}, {1, 7}, {13, 5}, {5000, 1}, {1, 3000}, {256, 256}}) {
    const Image image = gradient(width, height);
    image.save(folder / "a.png", {{"prompt", "a red apple"}});
    expect_same(decode_png(bytes_of(folder / "a.png")), image);
  }
}

TEST(Image, JpegIsClose) {
  const TemporaryFolder folder;
  const Image image = gradient(200, 120);
  image.save(folder / "a.jpg");
  const Decoded decoded = decode_jpeg(bytes_of(folder / "a.jpg"));
  ASSERT_EQ(decoded.rgb.size(), image.rgb().size());
  double sum = 0;
  int most = 0;
  for (std::size_t i = 0; i < decoded.rgb.size(); ++i) {
    const int difference = std::abs(decoded.rgb[i] - image.rgb()[i]);
    sum += difference;
    most = std::max(most, difference);
  }
  EXPECT_LT(sum / static_cast<double>(decoded.rgb.size()), 1.0);
  EXPECT_LT(most, 12);

  // A red edge on blue stays sharp: colour is not halved.
  const Image edge = make_image(16, 16, [](int x, int) {
    return x < 7 ? std::vector<int>{255, 0, 0} : std::vector<int>{0, 0, 255};
  });
  edge.save(folder / "edge.jpeg");
  const Decoded sharp = decode_jpeg(bytes_of(folder / "edge.jpeg"));
  for (std::size_t i = 0; i < sharp.rgb.size(); ++i) EXPECT_NEAR(sharp.rgb[i], edge.rgb()[i], 24) << i;
}

TEST(Image, SameInputSameBytes) {
  const TemporaryFolder folder;
  const ImageText text = {{"prompt", "a"}, {"seed", "1"}, {"größe", "ü"}, {"note", "日本"}};
  for (const char* suffix : {".png", ".jpg"}) {
    gradient(64, 48).save(folder / (std::string("a") + suffix), text);
    gradient(64, 48).save(folder / (std::string("b") + suffix), text);
    const std::string bytes = bytes_of(folder / (std::string("a") + suffix));
    EXPECT_FALSE(bytes.empty());
    EXPECT_EQ(bytes, bytes_of(folder / (std::string("b") + suffix)));
    EXPECT_EQ(bytes.find("tIME"), std::string::npos);
  }
}

TEST(Image, SuffixDecidesTheFormat) {
  const TemporaryFolder folder;
  for (const char* name : {"a.png", "a.PNG", "b.c.Png"}) {
    check_image_suffix(folder / name);
    gradient(4, 4).save(folder / name);
    EXPECT_TRUE(bytes_of(folder / name).starts_with("\x89PNG")) << name;
  }
  for (const char* name : {"a.jpg", "a.jpeg", "A.JPEG", "a.JpG"}) {
    check_image_suffix(folder / name);
    gradient(4, 4).save(folder / name);
    EXPECT_TRUE(bytes_of(folder / name).starts_with("\xff\xd8\xff")) << name;
  }
  for (const char* name : {"a.webp", "a", "a.", "png", ".png", "a.png.txt", "a.png ", "a.jp g", ""}) {
    const std::string message = error_of(ErrorKind::usage, [&] { check_image_suffix(name); });
    expect_part(message, name);
    expect_part(message, ".png, .jpg or .jpeg");
    expect_part(error_of(ErrorKind::usage, [&] { gradient(4, 4).save(folder / name); }),
                ".png, .jpg or .jpeg");
  }
  expect_part(error_of(ErrorKind::usage, [] { check_image_suffix("a"); }), "no suffix");
  expect_part(error_of(ErrorKind::usage, [] { check_image_suffix("a.jp\tg"); }),
              R"("a.jp\tg": the name has)");
}

TEST(Image, SaveNamesWhatCanNotBeWritten) {
  const TemporaryFolder folder;
  expect_part(error_of(ErrorKind::usage, [&] { Image().save(folder / "a.png"); }), "a.png");
  expect_part(error_of(ErrorKind::io, [&] { gradient(4, 4).save(folder / "absent/a.png"); }), "absent");
  std::filesystem::create_directory(folder / "folder.png");
  expect_part(error_of(ErrorKind::io, [&] { gradient(4, 4).save(folder / "folder.png"); }), "folder.png");
  std::filesystem::create_symlink("/dev/full", folder / "full.png");
  expect_part(error_of(ErrorKind::io, [&] { gradient(400, 400).save(folder / "full.png"); }), "full.png");
  if (geteuid() != 0) {  // permissions don't bind root
    std::filesystem::create_directory(folder / "locked");
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read);
    expect_part(error_of(ErrorKind::io, [&] { gradient(4, 4).save(folder / "locked/a.png"); }), "locked");
    std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_all);
  }
}

TEST(Image, RefusedTextLeavesTheOldFile) {
  const TemporaryFolder folder;
  gradient(4, 4).save(folder / "a.png");
  const std::string before = bytes_of(folder / "a.png");
  error_of(ErrorKind::usage, [&] { gradient(8, 8).save(folder / "a.png", {{"", "x"}}); });
  EXPECT_EQ(bytes_of(folder / "a.png"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "nothing left beside it";
}

TEST(Image, JpegSidesAreLimited) {
  const TemporaryFolder folder;
  const Image wide(65501, 1, std::vector<std::uint8_t>(65501 * 3));
  const std::string message = error_of(ErrorKind::unsupported, [&] { wide.save(folder / "a.jpg"); });
  expect_part(message, "a.jpg");
  expect_part(message, "65501×1");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.jpg"));
  wide.save(folder / "a.png");
  expect_same(decode_png(bytes_of(folder / "a.png")), wide);
}

}  // namespace
}  // namespace perfuse
