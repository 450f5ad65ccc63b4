// What a compiled program depends on, and so what it is found by.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace perfuse::runtime {

struct CacheKey {
  std::string program;   // hash of the lowered program's bytes: lower-case hexadecimal, 16 digits or more
  std::string backend;   // "pjrt"
  std::string compiler;  // name, version and hash of the compiler or plugin
  std::string target;    // device kind, CPU features, replica groups
  std::string options;   // all that is passed to the compiler besides the program

  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

// The parts by name, in the order in which they are hashed and written.
struct CacheKeyPart {
  std::string_view name;
  std::string CacheKey::*value;
};
inline constexpr std::array<CacheKeyPart, 5> kCacheKeyParts{{{"program", &CacheKey::program},
                                                             {"backend", &CacheKey::backend},
                                                             {"compiler", &CacheKey::compiler},
                                                             {"target", &CacheKey::target},
                                                             {"options", &CacheKey::options}}};

// Why `key` can't be one: its program is no hash, a part is not valid UTF-8. Empty: it can.
[[nodiscard]] std::string fault_of(const CacheKey& key);

// SHA-256 over all parts, 64 hexadecimal digits.
[[nodiscard]] std::string hash_of(const CacheKey& key);

// Where an entry lies in a cache folder: PP/PPPPPPPPPPPPPPPP-KKK….pfc, P from the program's hash, K from hash_of. Entries
// of one program share a folder and a prefix, so that a miss can be explained without reading all entries.
[[nodiscard]] std::filesystem::path entry_path(const CacheKey& key);
[[nodiscard]] std::string entry_prefix(const CacheKey& key);  // "PPPPPPPPPPPPPPPP-"

// Number of differing parts, and what differs, as the end of "it is …": "by another compiler (x 1; now: x 2), for …".
[[nodiscard]] int count_differences(const CacheKey& entry, const CacheKey& wanted);
[[nodiscard]] std::string describe_differences(const CacheKey& entry, const CacheKey& wanted);

}  // namespace perfuse::runtime
