#include "perfuse/backends/pjrt/compile_options.h"

#include <cstdint>
#include <optional>

#include "perfuse/core/error.h"

namespace perfuse::pjrt {
namespace {

// CompileOptionsProto.executable_build_options, and in it num_replicas and num_partitions.
constexpr std::uint64_t kBuildOptions = 3, kReplicas = 4, kPartitions = 5;

// Protobuf's wire format: varint tags (number · 8 + type), then a value.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number = 0;
    std::uint64_t integer = 0;                // of type varint
    std::span<const std::byte> content = {};  // of a string or message
  };
  // The next field, or nothing at the end.
  std::optional<Field> next() {
    if (bytes_.empty()) return std::nullopt;
    const std::uint64_t tag = varint();
    Field field{tag >> 3};
    switch (tag & 7U) {
      case 0: field.integer = varint(); break;
      case 1: static_cast<void>(take(8)); break;
      case 2: field.content = take(varint()); break;
      case 5: static_cast<void>(take(4)); break;
      default: broken();
    }
    return field;
  }

 private:
  [[noreturn]] static void broken() {
    fail(ErrorKind::usage, "compile options: not a serialized CompileOptionsProto");
  }
  std::span<const std::byte> take(std::uint64_t size) {
    if (size > bytes_.size()) broken();
    const auto taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(take(1).front());
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80U) return value;
    }
    broken();
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

void check_compile_options(std::span<const std::byte> options) {
  std::uint64_t replicas = 0, partitions = 0;
  Reader outer(options);
  while (const auto field = outer.next()) {
    if (field->number != kBuildOptions) continue;
    Reader inner(field->content);
    while (const auto option = inner.next()) {
      if (option->number == kReplicas) replicas = option->integer;
      if (option->number == kPartitions) partitions = option->integer;
    }
  }
  // More than an int32 holds would be negative to a plugin.
  constexpr std::uint64_t kMost = 1U << 20;
  if (replicas < 1 || replicas > kMost || partitions < 1 || partitions > kMost)
    fail(ErrorKind::usage, "compile options: {} replicas and {} partitions, expected 1 or more of each",
         replicas, partitions);
}

}  // namespace perfuse::pjrt
