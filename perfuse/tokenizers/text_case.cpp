#include "perfuse/tokenizers/text_case.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/uchar.h>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/utf8.h"

namespace perfuse {

bool is_python_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c)) || (c >= 0x1c && c <= 0x1f);
}

std::string_view strip(std::string_view text) {
  std::size_t begin = 0, end = text.size();
  for (std::size_t at = 0; at < end && is_python_space(next_character(text, at));) begin = at;
  for (std::size_t at = end; at > begin && is_python_space(previous_character(text, at));) end = at;
  return text.substr(begin, end - begin);
}

std::string lower_and_strip(std::string_view text) {
  if (const auto at = find_invalid_utf8(text))
    fail(ErrorKind::usage, "the prompt {} is not valid UTF-8 at byte {}; give it in UTF-8", quote(text), *at);
  std::string lower;
  icu::StringByteSink<std::string> sink(&lower);
  UErrorCode status = U_ZERO_ERROR;
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())),
                            sink, nullptr, status);
  if (U_FAILURE(status)) fail(ErrorKind::usage, "the prompt can't be lower-cased: {}", u_errorName(status));
  return std::string(strip(lower));
}

}  // namespace perfuse
