#include "perfuse/core/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/support/scratch.h"

namespace perfuse {
namespace {

std::string of(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

// The examples of FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, KnownDigests) {
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, OfAFile) {
  const test::ScratchFolder folder;
  EXPECT_EQ(sha256_hex_of_file(folder.write("a", "abc")), of("abc"));
  EXPECT_EQ(sha256_hex_of_file(folder.write("empty", "")), of(""));
  const auto message = test::message_of(ErrorKind::io, [&] { (void)sha256_hex_of_file(folder / "absent"); });
  EXPECT_TRUE(test::contains(message, "absent: ")) << message;
}

}  // namespace
}  // namespace perfuse
