#include "perfuse/image/image_text.h"

#include <algorithm>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"
#include "perfuse/image/jpeg.h"
#include "perfuse/image/png.h"

namespace perfuse {
namespace {

constexpr std::size_t kMostKeyCharacters = 79;
// A picture of 16384×8192 that does not compress at all
constexpr std::size_t kMostFileBytes = std::size_t{400} << 20;

bool is_printable_latin1(unsigned char c) { return (c >= 0x20 && c <= 0x7e) || c >= 0xa0; }

// What is wrong with a key, empty if nothing is.
std::string_view key_fault(std::string_view key) {
  if (key.empty()) return "is empty";
  if (find_invalid_utf8(key)) return "is not valid UTF-8";
  const auto latin1 = latin1_from_utf8(key);
  if (!latin1 || latin1->find('\n') != std::string::npos) return "has characters outside printable Latin-1";
  if (latin1->size() > kMostKeyCharacters) return "has more than 79 characters";
  if (latin1->front() == ' ' || latin1->back() == ' ' || latin1->find("  ") != std::string::npos)
    return "has a leading, trailing or doubled space";
  return {};
}

}  // namespace

void check_image_text(const ImageText& text) {
  for (const auto& [key, value] : text) {
    if (const std::string_view fault = key_fault(key); !fault.empty())
      fail(ErrorKind::usage, "picture text: the key {} {}; PNG takes 1 to 79 printable Latin-1 characters",
           quote(key), fault);
    if (const auto position = find_invalid_utf8(value))
      fail(ErrorKind::usage, "picture text {}: byte {} is not valid UTF-8", quote(key), *position);
    if (const auto position = value.find('\0'); position != std::string::npos)
      fail(ErrorKind::usage, "picture text {}: byte {} is NUL, which picture files can't hold", quote(key),
           position);
    if (value.size() > kMostTextBytes)
      fail(ErrorKind::usage, "picture text {}: {} are more than the limit of {}", quote(key),
           format_bytes(value.size()), format_bytes(kMostTextBytes));
  }
}

ImageText read_image_text(const std::filesystem::path& file) {
  const std::string content = read_file(file, kMostFileBytes);
  return parse_image_text(std::as_bytes(std::span(content)), file.string());
}

ImageText parse_image_text(std::span<const std::byte> bytes, std::string_view origin) {
  if (is_png(bytes)) return parse_png_text(bytes, origin);
  if (is_jpeg(bytes)) return parse_jpeg_text(bytes, origin);
  if (bytes.empty()) fail(ErrorKind::model, "{}: the file is empty, expected a PNG or JPEG picture", origin);
  fail(ErrorKind::model, "{}: this is neither a PNG nor a JPEG picture", origin);
}

std::optional<std::string> latin1_from_utf8(std::string_view utf8) {
  std::string latin1;
  latin1.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    auto c = static_cast<unsigned char>(utf8[i]);
    if (c >= 0x80) {  // only U+0080…U+00FF, two bytes, can be Latin-1
      if ((c != 0xc2 && c != 0xc3) || i + 1 == utf8.size()) return std::nullopt;
      const auto next = static_cast<unsigned char>(utf8[++i]);
      if ((next & 0xc0u) != 0x80u) return std::nullopt;
      c = static_cast<unsigned char>(((c & 0x03u) << 6) | (next & 0x3fu));
    }
    if (!is_printable_latin1(c) && c != '\n') return std::nullopt;
    latin1 += static_cast<char>(c);
  }
  return latin1;
}

std::string utf8_from_latin1(std::string_view latin1) {
  std::string utf8;
  utf8.reserve(latin1.size());
  for (const char c : latin1) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xc0u | (byte >> 6));
      utf8 += static_cast<char>(0x80u | (byte & 0x3fu));
    }
  }
  return utf8;
}

}  // namespace perfuse
