#include "perfuse/tensor/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cmath>
#include <cstring>

#include "tests/support/scratch.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::message_of;
using test::ScratchFolder;
using test::slurp;

std::string little_endian(std::uint64_t value) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

// As most writers do, so that the data begin at a multiple of 8.
std::string padded(std::string header) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return header;
}

std::string with_header(std::string_view header, std::string_view data = {}) {
  return little_endian(header.size()) + std::string(header) + std::string(data);
}

class Safetensors : public ::testing::Test {
 protected:
  SafetensorsFile open(std::string_view content) const {
    return SafetensorsFile::open(folder_.write("x.safetensors", content));
  }
  // The message for a file of that content, without the path that must begin it.
  std::string refusal(std::string_view content) const {
    const auto file = folder_.write("x.safetensors", content);
    const std::string message = message_of(ErrorKind::model, [&] { (void)SafetensorsFile::open(file); });
    EXPECT_TRUE(message.starts_with(file.string() + ": ")) << message;
    EXPECT_LT(message.size(), 600u);
    return message.substr(std::min(message.size(), file.string().size() + 2));
  }
  // For a file with one tensor "a" of that entry and 8 bytes of data.
  std::string entry_refusal(std::string_view entry) const {
    return refusal(with_header("{\"a\":" + std::string(entry) + "}", "12345678"));
  }
  ScratchFolder folder_;
};

TEST_F(Safetensors, ReadsTensorsWithoutCopying) {
  const auto file = open(with_header(
      padded(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"__metadata__":{"format":"pt"},)"
             R"("a":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}})"),
      std::string("\x80\x3f\0\xc0\0\0\x80\x3f\0\0\0\x40", 12)));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b"}));  // as they lie in the file
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_TRUE(file.contains("a"));
  EXPECT_FALSE(file.contains("__metadata__"));
  EXPECT_EQ(file.type_name("a"), "BF16");
  EXPECT_EQ(file.shape("a"), (Shape{1, 2}));
  const Tensor a = file.tensor("a"), b = file.tensor("b");
  EXPECT_EQ(a.dtype(), DType::bf16);
  EXPECT_EQ(static_cast<float>(a.data<bfloat16>()[1]), -2.0f);
  EXPECT_EQ(b.data<float>()[1], 2.0f);
  EXPECT_EQ(a.bytes().data(), file.file()->bytes().data() + file.file()->bytes().size() - 12);
}

TEST_F(Safetensors, ATensorOutlivesTheFileObjectAndTheFile) {
  Tensor tensor;
  {
    const auto file = open(with_header(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "abc"));
    tensor = file.tensor("a");
  }
  fs::remove(folder_ / "x.safetensors");
  EXPECT_EQ(tensor.data<std::uint8_t>()[2], 'c');
}

TEST_F(Safetensors, AMisalignedTensorIsCopied) {
  std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F64","shape":[1],"data_offsets":[1,9]}})";
  for (int padding = 0; padding < 8; ++padding, header += ' ') {
    const double value = 1.5;
    std::string data = "x";
    data.append(reinterpret_cast<const char*>(&value), 8);
    const auto file = open(with_header(header, data));
    const Tensor b = file.tensor("b");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.bytes().data()) % 8, 0u);
    EXPECT_EQ(b.data<double>()[0], 1.5);
  }
}

TEST_F(Safetensors, ReadsFilesOfTheReferenceImplementation) {
  const auto file =
      SafetensorsFile::open(fs::path(PERFUSE_TEST_DATA) /
                            "models/tiny-pixart-sigma/transformer/diffusion_pytorch_model.safetensors");
  EXPECT_GT(file.names().size(), 20u);
  std::size_t bytes = 0;
  for (const auto& name : file.names()) {
    EXPECT_TRUE(all_finite(file.tensor(name))) << name;
    bytes += file.tensor(name).nbytes();
  }
  EXPECT_LT(bytes, file.file()->bytes().size());
  EXPECT_GT(bytes + 20'000, file.file()->bytes().size());
}

TEST_F(Safetensors, EmptyTensorsAndEmptyFilesAreLegal) {
  const auto file = open(with_header(
      R"({"e":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},"f":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},)"
      R"("s":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"z":{"dtype":"F16","shape":[2,0],"data_offsets":[1,1]}})",
      "A"));
  EXPECT_EQ(file.tensor("e").shape(), (Shape{0, 5}));
  EXPECT_EQ(file.tensor("z").numel(), 0);
  EXPECT_EQ(file.tensor("s").data<std::uint8_t>()[0], 'A');
  EXPECT_TRUE(open(with_header("{}")).names().empty());
  const auto metadata_only = open(with_header(R"({"__metadata__":{"a":"b"}})"));
  EXPECT_TRUE(metadata_only.names().empty());
  EXPECT_EQ(metadata_only.metadata().size(), 1u);
}

TEST_F(Safetensors, AnAbsentTensorIsNamedWithNearOnes) {
  const auto file =
      open(with_header(R"({"proj.weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"));
  const auto expected =
      (folder_ / "x.safetensors").string() + ": unknown tensor \"proj.wieght\"; did you mean proj.weight?";
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)file.tensor("proj.wieght"); }), expected);
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)file.type_name("proj.wieght"); }), expected);
  EXPECT_EQ(message_of(ErrorKind::model, [&] { (void)file.shape("proj.wieght"); }), expected);
}

TEST_F(Safetensors, TypesThatAreNotReadAreNamed) {
  const auto file = open(with_header(
      R"({"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},"h":{"dtype":"F4","shape":[2],"data_offsets":[2,3]}})",
      "xyz"));
  EXPECT_EQ(file.type_name("q"), "F8_E4M3");
  EXPECT_TRUE(contains(
      message_of(ErrorKind::unsupported, [&] { (void)file.tensor("q"); }),
      "x.safetensors: \"q\": is F8_E4M3, which perfuse doesn't compute with; convert it to BF16 or F32"));
  EXPECT_TRUE(contains(message_of(ErrorKind::unsupported, [&] { (void)file.tensor("h"); }), "is F4"));
  EXPECT_TRUE(contains(entry_refusal(R"({"dtype":"F4","shape":[3],"data_offsets":[0,8]})"),
                       "shape [3] of F4 is no number of bytes"));
}

TEST_F(Safetensors, BoolsAreZeroOrOne) {
  const std::string header = R"({"m":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_TRUE(open(with_header(header, std::string_view("\0\1", 2))).tensor("m").data<bool>()[1]);
  const auto file = open(with_header(header, "\1\2"));
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [&] { (void)file.tensor("m"); }),
                       "\"m\": is BOOL and has a byte 2, expected 0 or 1"));
}

// 1. Truncated.
TEST_F(Safetensors, EveryTruncationIsRefused) {
  const std::string whole =
      with_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  EXPECT_NO_THROW((void)open(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) (void)refusal(whole.substr(0, size));
  EXPECT_EQ(refusal(""), "is empty, expected weights; fetch it again");
  EXPECT_EQ(refusal("\x01\x02"), "only 2 bytes; not a safetensors file, or broken: fetch it again");
  EXPECT_EQ(refusal(whole.substr(0, 20)),
            "its header's length is given as 54 bytes, but only 12 follow; not a safetensors "
            "file, or broken: fetch it again");
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 3)),
            "\"a\": data_offsets [0, 8] end after the 5 bytes of data in the file, which is cut short or "
            "broken: fetch it again");
}

// 2. A header length that lies.
TEST_F(Safetensors, HeaderLengthsThatLie) {
  for (const std::uint64_t length : {UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8, std::uint64_t{1} << 63,
                                     std::uint64_t{1} << 32, std::uint64_t{100'000'001}})
    EXPECT_TRUE(contains(refusal(little_endian(length) + "{}"),
                         fmt::format("given as {} bytes, expected at most 100000000", length)));
  EXPECT_TRUE(contains(refusal(little_endian(100'000'000) + "{}"), "but only 2 follow"));
  EXPECT_TRUE(contains(refusal(little_endian(3) + "{}"), "but only 2 follow"));
  EXPECT_TRUE(contains(refusal(little_endian(0)), "header: line 1, column 1: not JSON: it ends too early"));
  EXPECT_TRUE(contains(refusal(little_endian(1) + "{}"), "not JSON"));
}

TEST_F(Safetensors, AnHonestHeaderOf132MBIsRefusedByItsLength) {
  const auto file = folder_.write("x.safetensors", little_endian(132'000'000) + "{");
  fs::resize_file(file, 132'000'008);  // sparse
  EXPECT_TRUE(contains(message_of(ErrorKind::model, [&] { (void)SafetensorsFile::open(file); }),
                       "expected at most 100000000"));
}

// 3. Something else under that name.
TEST_F(Safetensors, OtherFilesAreCalledWhatTheyAre) {
  EXPECT_EQ(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n"),
            "is a Git LFS pointer, not weights; fetch the file itself with `git lfs pull`");
  for (const std::string_view page : {"<!DOCTYPE html><html>", "<html lang=en>", "\n\n <!doctype html>"})
    EXPECT_TRUE(contains(refusal(page), "is an HTML or XML page, not weights")) << page;
  EXPECT_TRUE(contains(refusal(std::string_view("PK\x03\x04\0\0\x08\x08\0\0\0\0", 12)),
                       "is a zip archive, likely a PyTorch checkpoint"));
  EXPECT_TRUE(contains(refusal("\x80\x02}q\x01(X\x05"), "is a Python pickle"));
  EXPECT_TRUE(contains(refusal(std::string_view("GGUF\x03\0\0\0\1\0\0\0\0\0\0\0", 16)), "is a GGUF file"));
  EXPECT_TRUE(contains(refusal("{\"error\": \"Not Found\"}"), "is JSON text"));
  EXPECT_TRUE(contains(refusal("Entry not found"), "not a safetensors file, or broken"));
}

TEST_F(Safetensors, WhatIsNoFileIsRefusedWithoutBlocking) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)SafetensorsFile::open(folder_ / "fifo"); }),
                       "is a FIFO"));
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)SafetensorsFile::open(folder_.path()); }),
                       "is a folder"));
  EXPECT_TRUE(contains(message_of(ErrorKind::io, [&] { (void)SafetensorsFile::open(folder_ / "no"); }),
                       "no such file"));
}

// 4. Offsets against shapes.
TEST_F(Safetensors, OffsetsThatDisagreeWithTheShape) {
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
            "\"a\": data_offsets [0, 8] are 8 bytes, but F32 of shape [3] are 12");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})"),
            "\"a\": data_offsets [0, 8] are 8 bytes, but F32 of shape [1] are 4");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
            "\"a\": data_offsets: [8, 0] end before they begin");
  EXPECT_TRUE(contains(entry_refusal(R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})"),
                       "end after the 8 bytes of data"));
  EXPECT_TRUE(contains(
      entry_refusal(
          R"({"dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615]})"),
      "\"a\": "));
  EXPECT_TRUE(contains(
      entry_refusal(
          R"({"dtype":"U8","shape":[8],"data_offsets":[18446744073709551607,18446744073709551615]})"),
      "end after"));
}

TEST_F(Safetensors, ProductsThatOverflow) {
  for (const std::string_view shape :
       {"[4294967296,4294967296]", "[9223372036854775807,2]", "[4611686018427387904,4]",
        "[0,4294967296,4294967296]", "[4294967296,4294967296,0]", "[281474976710657]",
        "[65536,65536,65536,65536]"})
    EXPECT_TRUE(
        contains(entry_refusal(fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":[0,0]}})", shape)),
                 "\"a\": shape"))
        << shape;
  // 2^62 f32 are 2^64 = 0 bytes.
  EXPECT_TRUE(contains(entry_refusal(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})"),
                       "is no number of bytes that a file can hold"));
}

// 5. Overlaps and holes.
TEST_F(Safetensors, RangesMustTouch) {
  const auto two = [](int b1, int e1, int b2, int e2, int size) {
    return with_header(
        fmt::format(
            R"({{"a":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},"b":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
            e1 - b1, b1, e1, e2 - b2, b2, e2),
        std::string(static_cast<std::size_t>(size), 'x'));
  };
  EXPECT_EQ(open(two(0, 4, 4, 8, 8)).names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(open(two(4, 8, 0, 4, 8)).names(), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(
      refusal(two(0, 4, 3, 8, 8)),
      "\"b\": begins at byte 3 of the data, where another tensor lies until byte 4; the file is broken");
  EXPECT_TRUE(contains(refusal(two(0, 8, 0, 8, 8)), "another tensor lies until byte 8"));
  EXPECT_TRUE(contains(refusal(two(0, 8, 2, 4, 8)), "another tensor lies until byte 8"));
  EXPECT_EQ(refusal(two(0, 4, 5, 8, 8)),
            "\"b\": begins at byte 5 of the data, where the one before ended at 4; the file is broken");
  EXPECT_TRUE(contains(refusal(two(1, 4, 4, 8, 8)), "\"a\": begins at byte 1"));
  EXPECT_EQ(refusal(two(0, 4, 4, 8, 11)), "has 3 bytes after the last tensor's; the file is broken");
  EXPECT_TRUE(contains(refusal(two(0, 4, 2, 2, 4)),
                       "another tensor lies until byte 4"));  // an empty tensor within another
  EXPECT_TRUE(contains(refusal(with_header("{}", "x")), "has 1 bytes after"));
}

// 6. Duplicates.
TEST_F(Safetensors, DuplicateKeys) {
  EXPECT_TRUE(contains(
      refusal(with_header(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
          "xy")),
      "the key \"a\" is there twice"));
  EXPECT_TRUE(contains(entry_refusal(R"({"dtype":"U8","shape":[8],"shape":[8],"data_offsets":[0,8]})"),
                       "the key \"shape\" is there twice"));
}

// 7. JSON of the wrong kind.
TEST_F(Safetensors, WrongJson) {
  EXPECT_EQ(refusal(with_header("[]")), "header: expected an object, found []");
  EXPECT_EQ(refusal(with_header("null")), "header: expected an object, found null");
  EXPECT_TRUE(contains(refusal(with_header("{\"a\"")), "header: line 1, column 5: not JSON"));
  EXPECT_TRUE(contains(refusal(with_header(std::string_view("{}\0\0", 4))), "a NUL byte, not JSON"));
  EXPECT_TRUE(contains(refusal(with_header("{\"\xff\":1}")), "not valid UTF-8"));
  EXPECT_TRUE(contains(refusal(with_header(std::string(100'000, '['))), "more than 200 levels"));
  EXPECT_EQ(entry_refusal("1"), "\"a\": expected an object with dtype, shape and data_offsets, found 1");
  EXPECT_EQ(entry_refusal("[]"), "\"a\": expected an object with dtype, shape and data_offsets, found []");
  EXPECT_EQ(entry_refusal("{}"), "\"a\": dtype is missing");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","data_offsets":[0,8]})"), "\"a\": shape is missing");
  EXPECT_EQ(entry_refusal(R"({"dtype":"F32","shape":[2]})"), "\"a\": data_offsets is missing");
  EXPECT_EQ(entry_refusal(R"({"dtype":32,"shape":[2],"data_offsets":[0,8]})"),
            "\"a\": dtype: expected a type such as \"F32\" or \"BF16\", found 32");
  EXPECT_EQ(entry_refusal(R"({"dtype":"float32","shape":[2],"data_offsets":[0,8]})"),
            "\"a\": dtype: expected a type such as \"F32\" or \"BF16\", found \"float32\"");
  for (const std::string_view offsets : {"\"0,8\"", "[\"0\",\"8\"]", "[0]", "[0,8,8]", "[-1,8]", "[0,8.0]",
                                         "8", "{}", "[null,8]", "[0,1e300]"})
    EXPECT_EQ(entry_refusal(fmt::format(R"({{"dtype":"F32","shape":[2],"data_offsets":{}}})", offsets))
                  .substr(0, 48),
              "\"a\": data_offsets: expected [begin, end], found ")
        << offsets;
  for (const std::string_view shape : {"[-2]", "[2.0]", "[\"2\"]", "[true]", "[null]", "[[2]]",
                                       "[-9223372036854775808]", "[18446744073709551615]"})
    EXPECT_TRUE(
        contains(entry_refusal(fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", shape)),
                 "\"a\": shape: expected sizes of at least 0, found "))
        << shape;
  for (const std::string_view shape : {"2", "\"2\"", "{}", "null"})
    EXPECT_TRUE(
        contains(entry_refusal(fmt::format(R"({{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", shape)),
                 "shape: expected a list of sizes, found "))
        << shape;
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(entry_refusal(fmt::format(R"({{"dtype":"F64","shape":[{}],"data_offsets":[0,8]}})", ones)),
            "\"a\": shape: has 65 dimensions, expected at most 64");
}

TEST_F(Safetensors, WrongMetadata) {
  EXPECT_EQ(refusal(with_header(R"({"__metadata__":[]})")),
            "__metadata__: expected an object of strings, found []");
  EXPECT_EQ(refusal(with_header(R"({"__metadata__":{"a":1}})")),
            "__metadata__: expected an object of strings, found 1");
}

TEST_F(Safetensors, HostileNamesStayOnOneLine) {
  EXPECT_EQ(refusal(with_header("{\"a\\n\\u001b[31m\":1}")),
            R"("a\n\x1b[31m": expected an object with dtype, shape and data_offsets, found 1)");
  EXPECT_LT(refusal(with_header("{\"" + std::string(1'000'000, 'n') + "\":1}")).size(), 400u);
}

TEST_F(Safetensors, EveryTypeRoundTrips) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  const auto values = Tensor::from<float>({3}, {0, 1, 1});
  for (const auto dtype :
       {DType::u8, DType::f16, DType::f32, DType::boolean, DType::i64, DType::bf16, DType::f64, DType::i32})
    tensors.emplace_back(fmt::format("t.{}", to_string(dtype)), values.to(dtype));
  tensors.emplace_back("empty", Tensor::empty(DType::f32, {0, 3}));
  tensors.emplace_back("scalar", Tensor::from<float>({}, {-0.0f}));
  tensors.emplace_back("none", Tensor());
  tensors.emplace_back("\"é\n\\", Tensor::from<std::uint8_t>({1}, {255}));
  write_safetensors(folder_ / "t.safetensors", tensors, {{"format", "pt"}, {"prompt", "a \"red\" apple\n😀"}});
  const auto file = SafetensorsFile::open(folder_ / "t.safetensors");
  EXPECT_EQ(file.names().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("prompt"), "a \"red\" apple\n😀");
  for (const auto& [name, tensor] : tensors) {
    const Tensor back = file.tensor(name);
    EXPECT_EQ(back.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(back.shape(), tensor.shape()) << name;
    EXPECT_TRUE(
        std::equal(back.bytes().begin(), back.bytes().end(), tensor.bytes().begin(), tensor.bytes().end()))
        << name;
    // Aligned as they lie: a view of the map, not a copy.
    EXPECT_GE(back.bytes().data(), file.file()->bytes().data());
    EXPECT_LE(back.bytes().data(), file.file()->bytes().data() + file.file()->bytes().size());
  }
}

TEST_F(Safetensors, WritesTheSameBytesEachTime) {
  const std::vector<std::pair<std::string, Tensor>> tensors{{"u", Tensor::from<std::uint8_t>({3}, {1, 2, 3})},
                                                            {"b", Tensor::from<float>({2}, {1, 2})},
                                                            {"a", Tensor::from<float>({1}, {3})}};
  write_safetensors(folder_ / "1", tensors);
  write_safetensors(folder_ / "2", tensors);
  EXPECT_EQ(slurp(folder_ / "1"), slurp(folder_ / "2"));
  EXPECT_EQ(SafetensorsFile::open(folder_ / "1").names(), (std::vector<std::string>{"b", "a", "u"}));
  std::uint64_t length = 0;
  std::memcpy(&length, slurp(folder_ / "1").data(), 8);
  EXPECT_EQ(length % 8, 0u);
  write_safetensors(folder_ / "none", {});
  EXPECT_TRUE(SafetensorsFile::open(folder_ / "none").names().empty());
}

TEST_F(Safetensors, RefusesToWriteWhatCantBeRead) {
  const Tensor t = Tensor::from<float>({1}, {1});
  folder_.write("kept", "old");
  const auto refused = [&](const std::vector<std::pair<std::string, Tensor>>& tensors,
                           const std::map<std::string, std::string, std::less<>>& metadata = {}) {
    return message_of(ErrorKind::usage, [&] { write_safetensors(folder_ / "kept", tensors, metadata); });
  };
  EXPECT_TRUE(contains(refused({{"a", t}, {"a", t}}), "two tensors named \"a\""));
  EXPECT_TRUE(contains(refused({{"__metadata__", t}}), "a tensor named \"__metadata__\""));
  EXPECT_TRUE(contains(refused({{"\xff", t}}), "not valid UTF-8"));
  EXPECT_TRUE(contains(refused({}, {{"k", "\xff"}}), "not valid UTF-8"));
  EXPECT_TRUE(contains(message_of(ErrorKind::io,
                                  [&] {
                                    write_safetensors("/dev/full", {{"a", t}});
                                  }),
                       "the disk is full"));
  EXPECT_EQ(slurp(folder_ / "kept"), "old");
}

}  // namespace
}  // namespace perfuse
