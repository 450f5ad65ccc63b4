#include "perfuse/image/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "perfuse/core/error.h"

namespace perfuse {
namespace {

// libpng's default; fixed here because the bytes of a picture must not change with the library's.
constexpr int kCompressionLevel = 6;

// Everything that a longjmp out of libpng must not skip the destructor of.
struct Writer {
  Writer() = default;
  ~Writer() { png_destroy_write_struct(&png, &info); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::vector<std::byte> out;
  std::exception_ptr exception;  // thrown in a callback, rethrown once libpng's frames are gone
  std::string error;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& writer = *static_cast<Writer*>(png_get_error_ptr(png));
  try {
    writer.error = message;
  } catch (...) {
    writer.exception = std::current_exception();
  }
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // about keywords only, which check_image_text has judged

void on_write(png_structp png, png_bytep data, png_size_t size) {
  auto& writer = *static_cast<Writer*>(png_get_io_ptr(png));
  try {
    const auto bytes = std::as_bytes(std::span(data, size));
    writer.out.insert(writer.out.end(), bytes.begin(), bytes.end());
  } catch (...) {
    writer.exception = std::current_exception();
  }
  if (writer.exception) png_error(png, "");
}

void on_flush(png_structp) {}

// False if libpng jumped back. No local variable here has a destructor.
bool write(Writer& writer, const Image& image, png_textp chunks, int count) {
  if (setjmp(png_jmpbuf(writer.png))) return false;
  png_set_write_fn(writer.png, &writer, on_write, on_flush);
  png_set_compression_level(writer.png, kCompressionLevel);
  png_set_filter(writer.png, PNG_FILTER_TYPE_BASE, PNG_ALL_FILTERS);
  png_set_user_limits(writer.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  const auto width = static_cast<png_uint_32>(image.width());
  png_set_IHDR(writer.png, writer.info, width, static_cast<png_uint_32>(image.height()), 8,
               PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_sRGB(writer.png, writer.info, PNG_sRGB_INTENT_PERCEPTUAL);
  if (count > 0) png_set_text(writer.png, writer.info, chunks, count);
  png_write_info(writer.png, writer.info);
  const std::size_t stride = std::size_t{3} * width;
  for (int y = 0; y < image.height(); ++y)
    png_write_row(writer.png, image.rgb().data() + static_cast<std::size_t>(y) * stride);
  png_write_end(writer.png, writer.info);
  return true;
}

struct Entry {
  std::string key, value;
  int compression;
};

}  // namespace

std::vector<std::byte> encode_png(const Image& image, const ImageText& text, std::string_view origin) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : text) {
    std::string keyword = latin1_from_utf8(key).value_or(std::string());
    if (auto latin1 = latin1_from_utf8(value))
      entries.push_back({std::move(keyword), std::move(*latin1), PNG_TEXT_COMPRESSION_NONE});
    else
      entries.push_back({std::move(keyword), value, PNG_ITXT_COMPRESSION_NONE});
  }
  std::string no_language;
  std::vector<png_text> chunks;
  for (Entry& entry : entries) {
    png_text chunk{};
    chunk.compression = entry.compression;
    chunk.key = entry.key.data();
    chunk.text = entry.value.data();
    chunk.lang = chunk.lang_key = no_language.data();
    if (entry.compression == PNG_ITXT_COMPRESSION_NONE)
      chunk.itxt_length = entry.value.size();
    else
      chunk.text_length = entry.value.size();
    chunks.push_back(chunk);
  }

  Writer writer;
  writer.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writer, on_error, on_warning);
  if (writer.png) writer.info = png_create_info_struct(writer.png);
  if (!writer.info) fail(ErrorKind::out_of_memory, "{}: libpng could not start writing a picture", origin);
  if (!write(writer, image, chunks.data(), static_cast<int>(chunks.size()))) {
    if (writer.exception) std::rethrow_exception(writer.exception);
    fail(ErrorKind::io, "{}: libpng could not write a picture of {}×{} pixels: {}", origin, image.width(),
         image.height(), writer.error);
  }
  return std::move(writer.out);
}

}  // namespace perfuse
