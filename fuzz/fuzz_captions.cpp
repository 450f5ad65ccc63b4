// Any text is cleaned, or refused as not UTF-8 or as too much work; what comes out is UTF-8 and short.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "perfuse/core/error.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/caption_cleaning.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto cleaned = perfuse::clean_caption(text);
    if (perfuse::find_invalid_utf8(cleaned)) std::abort();
    // A ligature of 3 bytes can become a phrase of 33 (U+FDFA), in each round again what an escape made of it.
    if (cleaned.size() > 32 * text.size() + 32) std::abort();
  } catch (const perfuse::Error& error) {
    if (error.kind() != perfuse::ErrorKind::usage) std::abort();
  }
  return 0;
}
