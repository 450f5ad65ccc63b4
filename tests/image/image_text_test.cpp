#include "perfuse/image/image_text.h"

#include <png.h>
#include <sys/stat.h>
#include <zlib.h>

#include "perfuse/image/jpeg.h"
#include "perfuse/image/png.h"
#include "test_pictures.h"

namespace perfuse {
namespace {

const ImageText kText = {
    {"prompt", "a red apple"},
    {"negative_prompt", ""},
    {"lines", "first\nsecond\n\tthird\r\n"},
    {"latin", "Äpfel, größer als ½ £"},
    {"other", "赤いりんご 🍎 — “quoted”"},
    {"Schlüssel", "a key in Latin-1"},
    {"json", R"({"seed": 0, "guidance_scale": 4.5, "list": ["a\nb", "\"", "é", "🍎"]})"},
    {"long", std::string(300000, 'x') + "ß"},
    {"long other", std::string(100000, 'y') + "🍏"},
};

std::string four_bytes(std::size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((value >> shift) & 255);
  return bytes;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return four_bytes(data.size()) + body + four_bytes(sum);
}

std::string packed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                      reinterpret_cast<const Bytef*>(text.data()), text.size(), 9),
            Z_OK);
  out.resize(size);
  return out;
}

using namespace std::string_literals;

const std::string kSignature = "\x89PNG\r\n\x1a\n";
const std::string kHeader = chunk("IHDR", four_bytes(1) + four_bytes(1) + "\x08\x02\0\0\0"s);
const std::string kEnd = chunk("IEND", "");

std::string png_of(const std::string& chunks) { return kSignature + kHeader + chunks + kEnd; }

ImageText parse(const std::string& bytes) {
  return parse_image_text(std::as_bytes(std::span(bytes)), "x.png");
}

std::string refusal(const std::string& bytes) {
  const std::string message = error_of(ErrorKind::model, [&] { static_cast<void>(parse(bytes)); });
  expect_part(message, "x.png: ");
  return message;
}

std::string encoded(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ImageText, RoundTrip) {
  const TemporaryFolder folder;
  for (const char* name : {"a.png", "a.jpg"}) {
    gradient(9, 7).save(folder / name, kText);
    EXPECT_EQ(read_image_text(folder / name), kText) << name;
    gradient(9, 7).save(folder / name);
    EXPECT_EQ(read_image_text(folder / name), ImageText()) << name;
  }
}

TEST(ImageText, LibpngReadsWhatIsWritten) {
  const std::string bytes = encoded(encode_png(gradient(3, 2), kText, "x.png"));
  struct Source {
    const std::string& bytes;
    std::size_t position;
  } source{bytes, 0};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  ASSERT_EQ(setjmp(png_jmpbuf(png)), 0) << "libpng refused the file";
  png_set_read_fn(png, &source, [](png_structp p, png_bytep out, png_size_t size) {
    auto& from = *static_cast<Source*>(png_get_io_ptr(p));
    if (from.bytes.size() - from.position < size) png_error(p, "too short");
    from.bytes.copy(reinterpret_cast<char*>(out), size, from.position);
    from.position += size;
  });
  png_read_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_textp texts = nullptr;
  const int count = png_get_text(png, info, &texts, nullptr);
  EXPECT_EQ(static_cast<std::size_t>(count), kText.size());
  for (int i = 0; i < count; ++i) {
    const bool international = texts[i].compression == PNG_ITXT_COMPRESSION_NONE;
    const std::string key = utf8_from_latin1(texts[i].key);
    ASSERT_TRUE(kText.contains(key)) << key;
    EXPECT_EQ(international ? std::string(texts[i].text) : utf8_from_latin1(texts[i].text), kText.at(key));
    EXPECT_EQ(international, key == "other" || key == "json" || key == "lines" || key == "long other") << key;
  }
  png_destroy_read_struct(&png, &info, nullptr);
}

TEST(ImageText, KeysAndValuesThatAreRefused) {
  const auto refused = [](const std::string& key, const std::string& value) {
    const std::string png = error_of(ErrorKind::usage, [&] { check_image_text({{key, value}}); });
    const TemporaryFolder folder;
    for (const char* name : {"a.png", "a.jpg"}) {
      EXPECT_EQ(error_of(ErrorKind::usage, [&] { gradient(2, 2).save(folder / name, {{key, value}}); }), png);
      EXPECT_FALSE(std::filesystem::exists(folder / name));
    }
    return png;
  };
  expect_part(refused("", "x"), "is empty");
  expect_part(refused(std::string(80, 'k'), "x"), "more than 79");
  expect_part(refused("日本", "x"), "Latin-1");
  expect_part(refused("a\nb", "x"), "Latin-1");
  expect_part(refused("a\0b"s, "x"), "Latin-1");
  expect_part(refused("\xff", "x"), "UTF-8");
  for (const char* key : {" a", "a ", "a  b"}) expect_part(refused(key, "x"), "space");
  expect_part(refused("prompt", "ab\xffz"), "byte 2 is not valid UTF-8");
  expect_part(refused("prompt", "abc\0d"s), "byte 3 is NUL");
  expect_part(refused("prompt", std::string(kMostTextBytes + 1, 'x')), "limit");
  check_image_text({{std::string(79, 'k'), "x"}, {"é", ""}, {"a b", "x"}});
  std::string accents;
  for (int i = 0; i < 79; ++i) accents += "é";
  check_image_text({{accents, "79 characters, 158 bytes"}});
}

TEST(ImageText, Latin1) {
  EXPECT_EQ(latin1_from_utf8("aé\n"), "a\xe9\n");
  EXPECT_EQ(latin1_from_utf8("ÿ"), "\xff");
  EXPECT_EQ(utf8_from_latin1("a\xe9\xff"), "aéÿ");
  for (const char* other : {"Ā", "\xc2\x80", "\t", "\xc3", "\xc3x", "日", "\x7f"})
    EXPECT_EQ(latin1_from_utf8(other), std::nullopt) << other;
}

TEST(ImageText, ForeignPng) {
  const std::string compressed = chunk("zTXt", "Comment\0\0"s + packed("d\xe9j\xe0 vu"));
  const std::string international = chunk("iTXt", "Titel\0\1\0de\0\0"s + packed("りんご"));
  EXPECT_EQ(parse(png_of(chunk("tEXt", "Author\0M\xfcller"s) + compressed + international)),
            (ImageText{{"Author", "Müller"}, {"Comment", "déjà vu"}, {"Titel", "りんご"}}));
  // text after the picture's data, unknown chunks, a repeated key, bytes after the end
  EXPECT_EQ(parse(png_of(chunk("IDAT", "junk") + chunk("tEXt", "a\0first"s) + chunk("vpAg", "?") +
                         chunk("tEXt", "a\0second"s)) +
                  "trailing"),
            (ImageText{{"a", "second"}}));
  EXPECT_EQ(parse(png_of("")), ImageText());
}

TEST(ImageText, EveryTruncationIsRefused) {
  const std::string png = encoded(encode_png(gradient(4, 3), {{"prompt", "an apple"}, {"x", "🍎"}}, "x.png"));
  EXPECT_EQ(parse(png).size(), 2u);
  for (std::size_t size = 0; size < png.size(); ++size) refusal(png.substr(0, size));
  const std::string jpeg = encoded(encode_jpeg(gradient(4, 3), {{"prompt", "an apple"}}, 95, "x.png"));
  const std::size_t scan = jpeg.find("\xff\xda");
  ASSERT_NE(scan, std::string::npos);
  for (std::size_t size = 0; size < scan + 2; ++size) refusal(jpeg.substr(0, size));
}

TEST(ImageText, EveryDamagedByteIsRefused) {
  const std::string png = encoded(encode_png(gradient(2, 2), {{"prompt", "apple"}}, "x.png"));
  for (std::size_t i = 0; i < png.size(); ++i) {
    std::string damaged = png;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    refusal(damaged);
  }
  std::string wrong_sum = png;
  wrong_sum[wrong_sum.find("apple") + 6] ^= 1;
  expect_part(refusal(wrong_sum), "checksum");
}

TEST(ImageText, LyingLengths) {
  expect_part(refusal(kSignature + kHeader + four_bytes(0x7fffffff) + "tEXtkey\0value"s),
              "claims 2147483647 bytes");
  expect_part(refusal(kSignature + kHeader + four_bytes(0xffffffff) + "tEXtkey\0value"s), "4294967295");
  expect_part(refusal(kSignature + kHeader + four_bytes(100) + "tEXtkey\0value"s + kEnd), "truncated");
  expect_part(refusal(kSignature + chunk("IHDR", "short") + kEnd), "13 bytes");
  expect_part(refusal(kSignature + chunk("tEXt", "a\0b"s) + kEnd), "first chunk");
  expect_part(refusal(kSignature + kHeader + chunk("t\n\x1b!", "a") + kEnd), "four letters");
}

TEST(ImageText, MalformedTextChunks) {
  expect_part(refusal(png_of(chunk("tEXt", "no end"))), "keyword does not end");
  expect_part(refusal(png_of(chunk("tEXt", "\0value"s))), "1 to 79");
  expect_part(refusal(png_of(chunk("tEXt", std::string(80, 'k') + "\0v"s))), "this one 80");
  expect_part(refusal(png_of(chunk("zTXt", "key\0"s))), "missing");
  expect_part(refusal(png_of(chunk("zTXt", "key\0\7x"s))), "unknown");
  expect_part(refusal(png_of(chunk("zTXt", "key\0\0not zlib"s))), "damaged");
  expect_part(refusal(png_of(chunk("zTXt", "key\0\0"s))), "damaged");
  expect_part(refusal(png_of(chunk("zTXt", "key\0\0"s + packed("cut off").substr(0, 8)))), "damaged");
  expect_part(refusal(png_of(chunk("iTXt", "key\0\0\0en"s))), "language does not end");
  expect_part(refusal(png_of(chunk("iTXt", "key\0\0\0en\0k"s))), "translated keyword does not end");
  expect_part(refusal(png_of(chunk("iTXt", "key\0\2\0\0\0x"s))), "unknown");
  expect_part(refusal(png_of(chunk("iTXt", "key\0\0\0\0\0a\xff"s))), "byte 1");
}

TEST(ImageText, DecompressionBombs) {
  const std::string bomb = packed(std::string(kMostTextBytes + 1, 'a'));
  EXPECT_LT(bomb.size(), 20000u);
  expect_part(refusal(png_of(chunk("zTXt", "key\0\0"s + bomb))), "limit");
  expect_part(refusal(png_of(chunk("iTXt", "key\0\1\0\0\0"s + bomb))), "limit");
  expect_part(refusal(png_of(chunk("tEXt", "key\0"s + std::string(kMostTextBytes + 1, 'a')))), "limit");
  const std::string most = chunk("zTXt", "key\0\0"s + packed(std::string(kMostTextBytes, 'a')));
  EXPECT_EQ(parse(png_of(most)).at("key").size(), kMostTextBytes);
  expect_part(refusal(png_of(most + most + most + most + chunk("tEXt", "b\0c"s))), "together");
}

TEST(ImageText, ForeignJpeg) {
  const auto segment = [](char marker, const std::string& data) {
    return "\xff"s + marker + four_bytes(data.size() + 2).substr(2) + data;
  };
  const std::string start = "\xff\xd8" + segment('\xe0', "JFIF\0..."s), scan = "\xff\xda....\xff\xd9";
  const auto comment = [&](const std::string& text) { return segment('\xfe', text); };
  EXPECT_EQ(parse(start + scan), ImageText());
  EXPECT_EQ(parse(start + comment("made by hand") + scan), ImageText());
  EXPECT_EQ(
      parse(start + comment("made by hand") + "\xff" + comment(R"({"a": "b"})") + comment("more") + scan),
      (ImageText{{"a", "b"}}));
  expect_part(refusal(start + comment(R"({"a": 1})") + scan), "expected a string");
  refusal(start + comment(R"({"a": "b")") + scan);
  refusal(start + comment("{\"a\": \"\xff\"}") + scan);
  refusal(start + comment(std::string("{").append(60000, '[')) + scan);
  refusal(start + "\xff\xfe\0\1"s + scan);
  refusal(start + "no marker" + scan);
}

TEST(ImageText, NotAPicture) {
  expect_part(refusal(""), "empty");
  expect_part(refusal("hello, this is text"), "neither");
  expect_part(refusal("\x89PNG"), "neither");
  expect_part(refusal("\xff\xd8"), "neither");

  const TemporaryFolder folder;
  expect_part(error_of(ErrorKind::io, [&] { static_cast<void>(read_image_text(folder / "absent.png")); }),
              "absent.png");
  const auto refused_file = [](const std::filesystem::path& file) {
    try {
      static_cast<void>(read_image_text(file));
      ADD_FAILURE() << file << " was read";
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::io || error.kind() == ErrorKind::model) << error.what();
      expect_part(error.what(), file.filename().string());
    }
  };
  ASSERT_EQ(mkfifo((folder / "fifo.png").c_str(), 0600), 0);
  refused_file(folder / "fifo.png");
  std::filesystem::create_symlink("loop.png", folder / "loop.png");
  refused_file(folder / "loop.png");
  refused_file(folder.path());
  std::ofstream(folder / "empty.png").close();
  refused_file(folder / "empty.png");
  std::ofstream(folder / "sparse.png").close();
  std::filesystem::resize_file(folder / "sparse.png", std::uintmax_t{1} << 40);
  refused_file(folder / "sparse.png");
}

}  // namespace
}  // namespace perfuse
