#include "perfuse/backends/pjrt/client.h"

#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "perfuse/core/file.h"
#include "tests/backends_pjrt/fixture.h"

namespace perfuse::pjrt {
namespace {

using test::bytes_of;
using test::compile_addition;
using test::contains;
using test::cpu_client;
using test::download;
using test::f32;
using test::message_of;
using test::upload;

std::vector<float> ramp(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.5F);
  return values;
}

TEST(Client, ListsItsDevices) {
  const auto client = cpu_client(3);
  EXPECT_EQ(client->platform_name(), "cpu");
  ASSERT_EQ(client->devices().size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const auto& device = client->devices()[static_cast<std::size_t>(i)];
    EXPECT_EQ(device.id, i);
    EXPECT_EQ(device.kind, "cpu");
    EXPECT_TRUE(contains(device.description, std::to_string(i)));
  }
  EXPECT_EQ(client->memory(0), std::nullopt);  // CPU plugins don't tell
}

TEST(Client, SeveralOfOnePluginLiveTogether) {
  const auto one = cpu_client(1), two = cpu_client(2);
  EXPECT_EQ(download(*upload(*one, {1, 2})), (std::vector<float>{1, 2}));
  EXPECT_EQ(download(*upload(*two, {3}, 1)), (std::vector<float>{3}));
}

TEST(Client, ValuesOfEveryTypeComeBack) {
  const auto client = cpu_client();
  for (const DType dtype :
       {DType::f32, DType::bf16, DType::f16, DType::i32, DType::u8, DType::boolean, DType::i64, DType::f64})
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 0, 4}, Shape{2, 3, 5}}) {
      const graph::ValueType type{dtype, shape};
      std::vector<std::byte> in(type.bytes()), out(type.bytes(), std::byte{9});
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::byte(dtype == DType::boolean ? i % 2 : i * 7);
      const auto buffer = client->upload({in, type}, 0);
      buffer->await();
      EXPECT_TRUE(buffer->ready());
      EXPECT_EQ(buffer->on_device_bytes(), in.size()) << graph::to_string(type);
      buffer->download(out);
      EXPECT_EQ(in, out) << graph::to_string(type);
    }
}

TEST(Client, UploadWithoutOwnerIsACopy) {
  const auto client = cpu_client();
  std::vector<float> values = ramp(1 << 20);
  const auto buffer = upload(*client, values);
  std::fill(values.begin(), values.end(), -1.0F);
  EXPECT_EQ(download(*buffer), ramp(1 << 20));
}

TEST(Client, UploadOfAMappedFileIsTheFilesMemory) {
  const auto client = cpu_client();
  const perfuse::test::ScratchFolder folder;
  const auto values = ramp(1 << 18);
  auto file =
      MappedFile::open(folder.write("weights", {reinterpret_cast<const char*>(values.data()), 1 << 20}));
  const auto* const begin = file->bytes().data();
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(begin) % kZeroCopyAlignment, 0U);

  const std::weak_ptr<const MappedFile> alive = file;
  auto buffer = client->upload({file->bytes(), f32({1 << 18}), std::move(file)}, 0);
  EXPECT_EQ(buffer->address(), reinterpret_cast<std::uintptr_t>(begin));
  EXPECT_FALSE(alive.expired());

  // Used by a program whose result outlives our handle of the argument.
  const auto twice = compile_addition(*client, 1 << 18);
  const std::vector<LoadedExecutable::Values> arguments{{buffer, buffer}};
  const auto results = twice->execute(arguments);
  EXPECT_EQ(download(*results[0][0])[7], 15.0F);
  client->synchronize();
}

TEST(Client, TheOwnerLivesAsLongAsTheBuffer) {
  const auto client = cpu_client();
  const std::size_t count = std::size_t{1} << 18;
  auto storage = std::make_shared<std::vector<float>>(ramp(count + 64));
  const auto address = reinterpret_cast<std::uintptr_t>(storage->data());
  const std::size_t skip =
      (kZeroCopyAlignment - address % kZeroCopyAlignment) % kZeroCopyAlignment / sizeof(float);
  const std::weak_ptr<std::vector<float>> alive = storage;
  const auto bytes = std::as_bytes(std::span(*storage)).subspan(skip * sizeof(float), count * sizeof(float));
  auto buffer = client->upload({bytes, f32({1 << 18}), std::move(storage)}, 0);
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(download(*buffer)[0], 0.5F + static_cast<float>(skip));
  buffer.reset();
  client->synchronize();
  EXPECT_TRUE(alive.expired());
}

TEST(Client, MisalignedMemoryIsCopied) {
  const auto client = cpu_client();
  auto storage = std::make_shared<std::vector<float>>(ramp((1 << 18) + 32));
  std::size_t skip = 0;
  while (reinterpret_cast<std::uintptr_t>(storage->data() + skip) % kZeroCopyAlignment != 4) ++skip;
  const auto bytes = std::as_bytes(std::span(*storage)).subspan(skip * sizeof(float), std::size_t{4} << 18);
  const auto buffer = client->upload({bytes, f32({1 << 18}), storage}, 0);
  EXPECT_NE(buffer->address(), reinterpret_cast<std::uintptr_t>(bytes.data()));
  EXPECT_EQ(download(*buffer)[1], 1.5F + static_cast<float>(skip));
}

// Larger than two pieces, and not a multiple of one.
TEST(Client, UploadInPieces) {
  const auto client = cpu_client(2);
  const std::size_t count = (2 * kUploadChunk + kUploadChunk / 2) / sizeof(float) + 1;
  const auto values = ramp(count);
  std::size_t copied = 0;
  const HostValue value{
      bytes_of(values), f32({static_cast<std::int64_t>(count)}), {}, [&](std::span<const std::byte> range) {
        EXPECT_EQ(range.data(), bytes_of(values).data() + copied);  // in order, without gaps
        copied += range.size();
      }};
  const auto buffer = client->upload(value, 1, UploadPath::chunked);
  EXPECT_EQ(copied, count * sizeof(float));
  EXPECT_EQ(buffer->device(), 1U);
  EXPECT_TRUE(download(*buffer) == values);
}

TEST(Client, UploadInPiecesOfSmallValues) {
  const auto client = cpu_client();
  for (const std::size_t count : {0, 1, 1000}) {
    const auto values = ramp(count);
    const auto buffer =
        client->upload({bytes_of(values), f32({static_cast<std::int64_t>(count)})}, 0, UploadPath::chunked);
    EXPECT_EQ(download(*buffer), values);
  }
}

TEST(Client, RefusesWrongUploads) {
  const auto client = cpu_client();
  const std::vector<float> values{1, 2, 3};
  EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                  [&] {
                                    (void)client->upload({bytes_of(values), f32({4})}, 0);
                                  }),
                       "12 bytes, expected 16"));
  EXPECT_TRUE(contains(message_of(ErrorKind::usage,
                                  [&] {
                                    (void)client->upload({bytes_of(values), f32({3})}, 1);
                                  }),
                       "device 1"));
  std::array<std::byte, 8> small{};
  EXPECT_TRUE(contains(message_of(ErrorKind::usage, [&] { upload(*client, values)->download(small); }),
                       "8 bytes, expected 12"));
}

TEST(Client, UploadsFromManyThreads) {
  const auto client = cpu_client(2);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::vector<float> values{static_cast<float>(t), static_cast<float>(i)};
        if (download(*upload(*client, values, t % 2)) == values) ++right;
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 400);
}

}  // namespace
}  // namespace perfuse::pjrt
