#include "perfuse/image/jpeg.h"

#include <jpeglib.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t
#include <exception>
#include <string>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

constexpr std::size_t kMostCommentBytes = 65533;  // a segment's 16-bit length counts itself

// Everything that a longjmp out of libjpeg must not skip the destructor of.
struct Encoder {
  Encoder() = default;
  ~Encoder() { jpeg_destroy_compress(&compress); }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  jpeg_compress_struct compress{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr destination{};
  std::jmp_buf back{};
  std::array<JOCTET, 16384> buffer{};
  std::vector<std::byte> out;
  std::exception_ptr exception;  // thrown in a callback, rethrown once libjpeg's frames are gone
  std::array<char, JMSG_LENGTH_MAX> message{};
};

Encoder& encoder_of(void* client_data) { return *static_cast<Encoder*>(client_data); }

[[noreturn]] void on_error(j_common_ptr info) {
  Encoder& encoder = encoder_of(info->client_data);
  info->err->format_message(info, encoder.message.data());
  std::longjmp(encoder.back, 1);
}

void on_message(j_common_ptr) {}

void reset_buffer(j_compress_ptr info) {
  Encoder& encoder = encoder_of(info->client_data);
  encoder.destination.next_output_byte = encoder.buffer.data();
  encoder.destination.free_in_buffer = encoder.buffer.size();
}

void append(j_compress_ptr info, std::size_t size) {
  Encoder& encoder = encoder_of(info->client_data);
  try {
    const auto bytes = std::as_bytes(std::span(encoder.buffer.data(), size));
    encoder.out.insert(encoder.out.end(), bytes.begin(), bytes.end());
  } catch (...) {
    encoder.exception = std::current_exception();
  }
  if (encoder.exception) std::longjmp(encoder.back, 1);
}

boolean on_full_buffer(j_compress_ptr info) {
  append(info, encoder_of(info->client_data).buffer.size());
  reset_buffer(info);
  return TRUE;
}

void on_end(j_compress_ptr info) {
  const Encoder& encoder = encoder_of(info->client_data);
  append(info, encoder.buffer.size() - encoder.destination.free_in_buffer);
}

// False if libjpeg jumped back. No local variable here has a destructor.
bool write(Encoder& encoder, const Image& image, std::string_view comment, int quality) {
  if (setjmp(encoder.back)) return false;
  jpeg_compress_struct& info = encoder.compress;
  info.err = jpeg_std_error(&encoder.errors);
  encoder.errors.error_exit = on_error;
  encoder.errors.output_message = on_message;
  info.client_data = &encoder;
  jpeg_create_compress(&info);
  encoder.destination.init_destination = reset_buffer;
  encoder.destination.empty_output_buffer = on_full_buffer;
  encoder.destination.term_destination = on_end;
  info.dest = &encoder.destination;

  info.image_width = static_cast<JDIMENSION>(image.width());
  info.image_height = static_cast<JDIMENSION>(image.height());
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  info.dct_method = JDCT_ISLOW;  // exact: the same bytes with and without SIMD
  info.optimize_coding = TRUE;
  jpeg_start_compress(&info, TRUE);
  for (std::string_view rest = comment; !rest.empty();
       rest.remove_prefix(std::min(rest.size(), kMostCommentBytes)))
    jpeg_write_marker(&info, JPEG_COM, reinterpret_cast<const JOCTET*>(rest.data()),
                      static_cast<unsigned int>(std::min(rest.size(), kMostCommentBytes)));
  const std::size_t stride = std::size_t{3} * info.image_width;
  while (info.next_scanline < info.image_height) {
    // libjpeg's interface is not const; it only reads the row
    JSAMPROW row = const_cast<JSAMPROW>(image.rgb().data() + info.next_scanline * stride);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  return true;
}

// The comment segments before the picture's data that make up one JSON object: the first that begins
// with "{", and what follows a full segment (longer text is cut every kMostCommentBytes).
std::string comment_of(std::span<const std::byte> bytes, std::string_view origin) {
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const auto refuse = [&](std::size_t position) {
    fail(ErrorKind::model,
         "{}: not a sound JPEG: no whole segment at byte {} of {}; the file is truncated or damaged", origin,
         position, bytes.size());
  };
  std::string comment;
  bool goes_on = true;
  for (std::size_t i = 2;;) {
    if (bytes.size() - i < 2 || at(i) != 0xff) refuse(i);
    const unsigned marker = at(i + 1);
    if (marker == 0xff) {  // padding
      ++i;
      continue;
    }
    if (marker == 0xda || marker == 0xd9) return comment;  // the picture's data, or the end
    if (bytes.size() - i < 4) refuse(i);
    const std::size_t length = (at(i + 2) << 8) | at(i + 3);
    if (length < 2 || length > bytes.size() - i - 2) refuse(i);
    const std::string_view data(reinterpret_cast<const char*>(bytes.data()) + i + 4, length - 2);
    if (marker == JPEG_COM && goes_on && (!comment.empty() || data.starts_with('{'))) {
      comment += data;
      if (comment.size() > kMostTotalTextBytes)
        fail(ErrorKind::model, "{}: its comments are more than {}", origin,
             format_bytes(kMostTotalTextBytes));
      goes_on = data.size() == kMostCommentBytes;
    }
    i += 2 + length;
  }
}

}  // namespace

std::vector<std::byte> encode_jpeg(const Image& image, const ImageText& text, int quality,
                                   std::string_view origin) {
  const std::string comment = text.empty() ? std::string() : Json(text).dump();
  Encoder encoder;
  if (!write(encoder, image, comment, quality)) {
    if (encoder.exception) std::rethrow_exception(encoder.exception);
    fail(ErrorKind::unsupported, "{}: libjpeg could not write a picture of {}×{} pixels: {}", origin,
         image.width(), image.height(), encoder.message.data());
  }
  return std::move(encoder.out);
}

bool is_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8} &&
         bytes[2] == std::byte{0xff};
}

ImageText parse_jpeg_text(std::span<const std::byte> bytes, std::string_view origin) {
  const std::string comment = comment_of(bytes, origin);
  if (comment.empty()) return {};
  const Json json = parse_json(comment, std::string(origin) + ": comment");
  if (!json.is_object()) fail(ErrorKind::model, "{}: its comment is not a JSON object", origin);
  ImageText text;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      fail(ErrorKind::model, "{}: comment: {}: expected a string, found {}", origin, quote(key),
           brief(value));
    text.emplace(key, value.get<std::string>());
  }
  return text;
}

}  // namespace perfuse
