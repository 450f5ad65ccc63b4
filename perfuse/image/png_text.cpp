// The text chunks of a PNG, read without libpng: no pixel is decoded, every length is checked against
// the file before use, and what a compressed chunk may grow to is bounded.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/image/png.h"

namespace perfuse {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr std::uint32_t kMostChunkBytes = 0x7fffffff;
constexpr std::size_t kHeaderBytes = 13;
constexpr std::size_t kMostKeyBytes = 79;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::uint32_t big_endian(std::string_view four) {
  std::uint32_t value = 0;
  for (const char c : four.substr(0, 4)) value = (value << 8) | static_cast<unsigned char>(c);
  return value;
}

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

class Reader {
 public:
  Reader(std::string_view bytes, std::string_view origin)
      : rest_(bytes), size_(bytes.size()), origin_(origin) {}

  ImageText read() {
    rest_.remove_prefix(kSignature.size());
    next_chunk();
    if (type_ != "IHDR" || data_.size() != kHeaderBytes) refuse("the first chunk must be IHDR of 13 bytes");
    while (type_ != "IEND") {
      next_chunk();
      if (type_ == "tEXt") plain();
      if (type_ == "zTXt") compressed();
      if (type_ == "iTXt") international();
    }
    return std::move(text_);
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    fail(ErrorKind::model, "{}: not a sound PNG: {} (chunk {} at byte {} of {})", origin_, why, quote(type_),
         position_, size_);
  }

  void next_chunk() {
    constexpr std::size_t kFrame = 12;  // length, type, checksum
    position_ = size_ - rest_.size();
    if (rest_.size() < kFrame) {
      type_ = rest_.substr(std::min<std::size_t>(rest_.size(), 4), 4);
      refuse("the file ends before IEND; it is truncated");
    }
    const std::uint32_t length = big_endian(rest_);
    type_ = rest_.substr(4, 4);
    const bool letters = std::all_of(type_.begin(), type_.end(),
                                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
    if (!letters) refuse("a chunk's type must be four letters");
    if (length > kMostChunkBytes)
      refuse(fmt::format("a length of {} is beyond PNG's limit of 2^31−1", length));
    if (length > rest_.size() - kFrame)
      refuse(fmt::format("it claims {} bytes, {} are left; the file is truncated", length,
                         rest_.size() - kFrame));
    data_ = rest_.substr(8, length);
    if (checksum(rest_.substr(4, 4 + std::size_t{length})) !=
        big_endian(rest_.substr(8 + std::size_t{length})))
      refuse("its checksum is wrong; the file is damaged");
    rest_.remove_prefix(kFrame + length);
  }

  // What precedes the next NUL of data_, which moves behind it.
  std::string_view take_string(std::string_view name) {
    const std::size_t end = data_.find('\0');
    if (end == std::string_view::npos) refuse(fmt::format("its {} does not end", name));
    const std::string_view taken = data_.substr(0, end);
    data_.remove_prefix(end + 1);
    return taken;
  }

  std::string take_key() {
    const std::string_view key = take_string("keyword");
    if (key.empty() || key.size() > kMostKeyBytes)
      refuse(fmt::format("a keyword has 1 to 79 bytes, this one {}", key.size()));
    return utf8_from_latin1(key);
  }

  int take_byte(std::string_view name) {
    if (data_.empty()) refuse(fmt::format("its {} is missing", name));
    const int value = static_cast<unsigned char>(data_.front());
    data_.remove_prefix(1);
    return value;
  }

  void plain() {
    const std::string key = take_key();
    add(key, utf8_from_latin1(limited(data_)));
  }

  void compressed() {
    const std::string key = take_key();
    if (take_byte("compression method") != 0) refuse("its compression method is unknown");
    add(key, utf8_from_latin1(inflated()));
  }

  void international() {
    const std::string key = take_key();
    const int flag = take_byte("compression flag");
    const int method = take_byte("compression method");
    if (flag > 1 || (flag == 1 && method != 0)) refuse("its compression method is unknown");
    static_cast<void>(take_string("language"));
    static_cast<void>(take_string("translated keyword"));
    std::string value = flag == 1 ? inflated() : std::string(limited(data_));
    if (const auto position = find_invalid_utf8(value))
      refuse(fmt::format("byte {} of {} is not valid UTF-8", *position, quote(key)));
    add(key, std::move(value));
  }

  std::string_view limited(std::string_view value) const {
    if (value.size() > kMostTextBytes)
      refuse(fmt::format("{} of text are more than the limit of {}", format_bytes(value.size()),
                         format_bytes(kMostTextBytes)));
    return value;
  }

  // data_ decompressed, refused as soon as it passes the limit.
  std::string inflated() const {
    const std::string_view packed = limited(data_);
    struct Inflater {
      z_stream stream{};
      ~Inflater() { inflateEnd(&stream); }
    } inflater;
    z_stream& stream = inflater.stream;
    if (inflateInit(&stream) != Z_OK) fail(ErrorKind::out_of_memory, "{}: zlib could not start", origin_);
    // zlib's interface is not const; it only reads next_in
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    std::string value;
    std::array<char, 16384> piece;
    for (int status = Z_OK; status != Z_STREAM_END;) {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      status = inflate(&stream, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END) refuse("its compressed text is damaged");
      value.append(piece.data(), piece.size() - stream.avail_out);
      if (value.size() > kMostTextBytes)
        refuse(fmt::format("its text grows beyond the limit of {}", format_bytes(kMostTextBytes)));
    }
    return value;
  }

  void add(const std::string& key, std::string value) {
    total_ += value.size();
    if (total_ > kMostTotalTextBytes)
      refuse(fmt::format("the texts together are more than {}", format_bytes(kMostTotalTextBytes)));
    text_.insert_or_assign(key, std::move(value));
  }

  std::string_view rest_;
  std::size_t size_;
  std::string_view origin_;
  std::size_t position_ = 0;
  std::string_view type_, data_;
  std::size_t total_ = 0;
  ImageText text_;
};

}  // namespace

bool is_png(std::span<const std::byte> bytes) { return as_text(bytes).starts_with(kSignature); }

ImageText parse_png_text(std::span<const std::byte> bytes, std::string_view origin) {
  return Reader(as_text(bytes), origin).read();
}

}  // namespace perfuse
