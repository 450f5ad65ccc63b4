#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse {

// Byte position of the first invalid UTF-8 sequence (overlong forms, surrogates and values over
// U+10FFFF included), or nothing.
[[nodiscard]] std::optional<std::size_t> find_invalid_utf8(std::string_view text);

// Up to three of `known` within a small edit distance of `name`, or that begin with it; nearest first.
// Case is ignored.
[[nodiscard]] std::vector<std::string> near_names(std::string_view name, std::span<const std::string> known);

// "unknown scheduler \"EulerDiscret\"; did you mean EulerDiscreteScheduler?", or, where nothing is near,
// "…; known: A, B, C".
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       std::span<const std::string> known);

// `text` in double quotes: at most `most` of its characters (then "…"), control characters and invalid
// UTF-8 escaped: user text that is safe inside a one-line message.
[[nodiscard]] std::string quote(std::string_view text, std::size_t most = 60);

// `text` as it is where it may stand in a one-line message (at most `most` bytes, no control characters,
// valid UTF-8), else quote(text, most): for names that are nearly always plain.
[[nodiscard]] std::string plain_or_quoted(std::string_view text, std::size_t most = 200);

// "1.5 GB", "12 KB", "0 bytes" (powers of 1000).
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

// "500MB" (powers of 1000), "1.5 GiB" (powers of 1024), "0". Without a unit a number is not taken, nor is "5G", which
// means one thing to some and another to others: Error(usage) "WHAT: expected a size …".
[[nodiscard]] std::uint64_t parse_bytes(std::string_view what, std::string_view text);

}  // namespace perfuse
