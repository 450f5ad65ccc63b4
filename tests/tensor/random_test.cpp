// Against torch 2.15's numbers: data/golden/rng.
#include "perfuse/tensor/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "perfuse/core/json.h"
#include "perfuse/tensor/safetensors.h"

namespace perfuse {
namespace {

const std::string kGolden = PERFUSE_TEST_DATA "/golden/rng";

// "randn.seed42.1x4x8x8.f32" -> its fields.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

// Distance in units of the last place, for values of the half types.
template <class T> int ulps(T a, T b) {
  const auto order = [](T v) {
    return (v.bits & 0x8000u) ? -static_cast<int>(v.bits & 0x7fffu) : static_cast<int>(v.bits);
  };
  return std::abs(order(a) - order(b));
}

template <class T> bool agree(T found, T wanted) {
  if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>)
    return ulps(found, wanted) <= 1;
  else if constexpr (std::is_floating_point_v<T>)
    return std::abs(found - wanted) <= T(5e-7) * std::max(T{1}, std::abs(wanted));
  else
    return found == wanted;
}

// Integers and uniforms exactly; what goes through log, sin and cos to their last place.
void compare(const std::string& name, const Tensor& found, const Tensor& wanted, bool exact = false) {
  SCOPED_TRACE(name);
  ASSERT_EQ(found.dtype(), wanted.dtype());
  ASSERT_EQ(found.shape(), wanted.shape());
  visit_dtype(found.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = found.data<T>(), b = wanted.data<T>();
    std::size_t off = 0, unequal = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!agree(a[i], b[i])) ++off;
      if (!(a[i] == b[i])) ++unequal;
    }
    EXPECT_EQ(off, 0u) << "of " << a.size();
    if (exact) {
      EXPECT_EQ(unequal, 0u) << "of " << a.size();
    }
  });
}

class RandomGolden : public ::testing::Test {
 protected:
  // Compares the tensor `name`, and notes that it was tested.
  void check(const std::string& name, const Tensor& found, bool exact = false) {
    compare(name, found, file_.tensor(name), exact);
    seen_[name] = true;
  }
  static Generator generator(const std::string& field) {  // "seed42"
    return Generator(std::stoull(field.substr(field.find_first_of("0123456789"))));
  }
  static Shape shape(const std::string& field) {  // "1x4x8x8"
    Shape result;
    for (const auto& size : split(field, 'x')) result.push_back(std::stoll(size));
    return result;
  }

  const SafetensorsFile file_ = SafetensorsFile::open(kGolden + ".safetensors");
  const Json json_ = read_json(kGolden + ".json");
  std::map<std::string, bool> seen_;
};

TEST_F(RandomGolden, EveryTensor) {
  for (const auto& name : file_.names()) {
    const auto part = split(name, '.');
    if (part[0] == "randn") {
      check(name, generator(part[1]).randn(shape(part[2]), *parse_dtype(part[3])));
    } else if (part[0] == "rand") {
      check(name, generator(part[1]).rand(shape(part[2]), *parse_dtype(part[3])), true);
    } else if (part[0] == "randint") {
      const auto range = split(part[2], '_');
      check(name, generator(part[1]).randint(std::stoll(range[0]), std::stoll(range[1]), shape(part[3])),
            true);
    } else if (part[0] == "randperm") {
      check(name, generator(part[1]).randperm(std::stoll(part[2])), true);
    } else if (part[0] == "random_raw32") {
      // The low halves of 64-bit words, which is how torch draws integers of a range from 2^28 on.
      check(name, generator(part[1]).randint(0, std::int64_t{1} << 32, file_.shape(name)), true);
      auto words = generator(part[1]);
      std::vector<std::int64_t> values(static_cast<std::size_t>(file_.shape(name)[0]));
      for (auto& value : values) {
        (void)words.random32();
        value = words.random32();
      }
      check(name, Tensor::from(file_.shape(name), values), true);
    }
  }
  // Continued draws on one generator.
  for (const std::string seq : {"seqA", "seqB", "seqC"}) {
    for (const std::string dtype : {"f32", "f16", "bf16", "f64"}) {
      Generator continued(json_.at(seq).at("seed").get<std::uint64_t>());
      int i = 0;
      for (const auto& size : json_.at(seq).at("sizes"))
        check(fmt::format("{}.{}.{}", seq, dtype, i++),
              continued.randn({size.get<std::int64_t>()}, *parse_dtype(dtype)));
    }
  }
  Generator mixed(json_.at("mix").at("seed").get<std::uint64_t>());
  int i = 0;
  for (const auto& call : json_.at("mix").at("calls")) {
    const Shape n{call.at("n").get<std::int64_t>()};
    const auto fn = call.at("fn").get<std::string>();
    const auto name = fmt::format("mix.{}", i++);
    if (fn == "randint") {
      check(name, mixed.randint(0, call.at("arg").get<std::int64_t>(), n), true);
    } else {
      const auto dtype = *parse_dtype(call.at("arg").get<std::string>());
      check(name, fn == "randn" ? mixed.randn(n, dtype) : mixed.rand(n, dtype), fn == "rand");
    }
  }
  const auto& tensors = json_.at("randn_tensor");
  for (const auto dtype : {DType::f32, DType::bf16}) {
    std::vector<Generator> list;
    for (const auto& seed : tensors.at("list_seeds")) list.emplace_back(seed.get<std::uint64_t>());
    for (std::size_t call = 0; call < tensors.at("shapes").size(); ++call)
      check(fmt::format("randn_tensor.list.call{}.{}", call, to_string(dtype)),
            randn_tensor(tensors.at("shapes")[call].get<Shape>(), list, dtype));
    for (const std::string form : {"single", "list1"}) {
      std::vector<Generator> one{Generator(tensors.at("single_seed").get<std::uint64_t>())};
      const auto name = fmt::format("randn_tensor.{}.{}", form, to_string(dtype));
      check(name, randn_tensor(file_.shape(name), one, dtype));
    }
  }
  for (const auto& name : file_.names()) EXPECT_TRUE(seen_[name]) << name << " was not tested";
  EXPECT_GE(seen_.size(), 300u);
}

TEST(Random, SeedUsesLow32Bits) {
  Generator low(5), high((std::uint64_t{256} << 32) + 5);
  EXPECT_EQ(high.seed(), (std::uint64_t{256} << 32) + 5);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(low.random32(), high.random32());
}

TEST(Random, EmptyDrawsTakeNothing) {
  Generator a(1), b(1);
  EXPECT_EQ(a.randn({0, 4}).numel(), 0);
  EXPECT_EQ(a.rand({0}).numel(), 0);
  EXPECT_EQ(a.randperm(0).numel(), 0);
  EXPECT_EQ(a.randperm(1).data<std::int64_t>()[0], 0);
  EXPECT_EQ(a.random32(), b.random32());
}

TEST(Random, IntegersStayInRange) {
  Generator generator(3);
  const auto small = generator.randint(-5, 6, {1000});
  for (const auto value : small.data<std::int64_t>()) EXPECT_TRUE(value >= -5 && value < 6);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(),
                 kMost = std::numeric_limits<std::int64_t>::max();
  const auto wide = generator.randint(kLeast, kMost, {1000});
  for (const auto value : wide.data<std::int64_t>()) EXPECT_LT(value, kMost);
}

TEST(Random, UniformsAreBelowOne) {
  Generator generator(3);
  for (const auto dtype : {DType::f32, DType::bf16, DType::f16, DType::f64}) {
    const auto values = generator.rand({10000}, dtype).to(DType::f64);
    for (const auto value : values.data<double>()) ASSERT_TRUE(value >= 0 && value < 1) << to_string(dtype);
  }
}

template <class F> std::string message_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

TEST(Random, RefusesNonsense) {
  Generator generator(1);
  EXPECT_NE(message_of([&] { (void)generator.randn({4}, DType::i32); }).find("randn"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)generator.rand({4}, DType::u8); }).find("u8"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)generator.randint(3, 3, {1}); }).find("low < high"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)generator.randperm(-1); }).find("-1"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)generator.randn({-1}); }), "no error");
  EXPECT_NE(message_of([&] { (void)generator.randn({1 << 20, 1 << 20, 1 << 20}); }), "no error");
  std::vector<Generator> two{Generator(0), Generator(1)};
  EXPECT_NE(message_of([&] {
              (void)randn_tensor({3, 4}, two, DType::f32);
            }).find("2 random generators"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)randn_tensor({3, 4}, {}, DType::f32); }), "no error");
  EXPECT_NE(message_of([&] { (void)randn_tensor({}, two, DType::f32); }), "no error");
}

}  // namespace
}  // namespace perfuse
