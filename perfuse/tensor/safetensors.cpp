#include "perfuse/tensor/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/core/text.h"
#include "perfuse/tensor/safetensors_format.h"

namespace perfuse {
namespace {

using namespace safetensors;

constexpr std::size_t kMostDimensions = 64;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What lies where weights should, by its first bytes; empty if it is none of the usual things. Asked only
// once the header's length has proved impossible, so that no safetensors file is taken for something else.
std::string_view what_it_is(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"version https://git-lfs",
       "a Git LFS pointer, not weights; fetch the file itself with `git lfs pull`"},
      {"PK\x03\x04",
       "a zip archive, likely a PyTorch checkpoint; save it as safetensors (save_pretrained does)"},
      {"\x80\x02",
       "a Python pickle, likely a PyTorch checkpoint; save it as safetensors (save_pretrained does)"},
      {"\x80\x03",
       "a Python pickle, likely a PyTorch checkpoint; save it as safetensors (save_pretrained does)"},
      {"\x80\x04",
       "a Python pickle, likely a PyTorch checkpoint; save it as safetensors (save_pretrained does)"},
      {"GGUF", "a GGUF file, expected safetensors"},
      {"\x1f\x8b", "gzip data, expected safetensors; unpack it"},
      {"{", "JSON text, expected safetensors"},
      {"<", "an HTML or XML page, not weights; download the file itself, not the page that shows it"},
  };
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  for (const auto& [begin, kind] : kKinds)
    if (text.substr(start).starts_with(begin)) return kind;
  return {};
}

std::uint64_t header_length(const MappedFile& file) {
  const auto bytes = file.bytes();
  const auto refuse = [&](const std::string& found) {
    const auto kind = what_it_is(text_of(bytes.first(std::min<std::size_t>(bytes.size(), 256))));
    if (!kind.empty()) fail(ErrorKind::model, "{}: is {}", display(file.path()), kind);
    fail(ErrorKind::model, "{}: {}; not a safetensors file, or broken: fetch it again", display(file.path()),
         found);
  };
  if (bytes.empty())
    fail(ErrorKind::model, "{}: is empty, expected weights; fetch it again", display(file.path()));
  if (bytes.size() < kLengthBytes) refuse(fmt::format("only {}", format_bytes(bytes.size())));
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  if (length > kMostHeaderBytes)
    refuse(fmt::format("its header's length is given as {} bytes, expected at most {}", length,
                       kMostHeaderBytes));
  if (length > bytes.size() - kLengthBytes)
    refuse(fmt::format("its header's length is given as {} bytes, but only {} follow", length,
                       bytes.size() - kLengthBytes));
  return length;
}

// Fails with "FILE: TENSOR: …".
class EntryReader {
 public:
  EntryReader(const std::string& origin, std::string_view name, const Json& json)
      : origin_(origin), name_(name), json_(json) {
    if (!json.is_object())
      refuse("expected an object with dtype, shape and data_offsets, found " + brief(json));
  }

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::model, "{}: {}: {}", origin_, quote(name_, 200),
         fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse(const std::string& message) const { refuse("{}", message); }

  const ElementType& type() const {
    const Json& value = field("dtype");
    const auto* type = value.is_string() ? find_element_type(value.get_ref<const std::string&>()) : nullptr;
    if (type == nullptr) refuse("dtype: expected a type such as \"F32\" or \"BF16\", found {}", brief(value));
    return *type;
  }

  Shape shape() const {
    const Json& value = field("shape");
    if (!value.is_array()) refuse("shape: expected a list of sizes, found {}", brief(value));
    if (value.size() > kMostDimensions)
      refuse("shape: has {} dimensions, expected at most {}", value.size(), kMostDimensions);
    Shape shape;
    for (const auto& size : value) {
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > std::uint64_t{1} << 62)
        refuse("shape: expected sizes of at least 0, found {}", brief(value));
      shape.push_back(size.get<std::int64_t>());
    }
    return shape;
  }

  std::pair<std::uint64_t, std::uint64_t> offsets() const {
    const Json& value = field("data_offsets");
    if (!value.is_array() || value.size() != 2 || !value[0].is_number_unsigned() ||
        !value[1].is_number_unsigned())
      refuse("data_offsets: expected [begin, end], found {}", brief(value));
    return {value[0].get<std::uint64_t>(), value[1].get<std::uint64_t>()};
  }

 private:
  const Json& field(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) refuse("{} is missing", key);
    return *found;
  }

  const std::string& origin_;
  std::string_view name_;
  const Json& json_;
};

// Bytes of a tensor; nothing where the product, with zeros left out, is past any file. (A zero must not
// hide the others: sizes are multiplied in other orders later.)
std::optional<std::uint64_t> bytes_of(const Shape& shape, unsigned bits) {
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48;  // as numel() has it
  std::uint64_t product = 1;
  bool empty = false;
  for (const auto size : shape) {
    empty = empty || size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (product > kMostElements / factor) return std::nullopt;
    product *= factor;
  }
  if (empty) return 0;
  // A type of 4 or 6 bits may end inside a byte: then no range of bytes fits.
  return product * bits % 8 == 0 ? std::optional(product * bits / 8) : std::nullopt;
}

std::map<std::string, std::string, std::less<>> read_metadata(const Json& json, const std::string& origin) {
  std::map<std::string, std::string, std::less<>> result;
  const auto refuse = [&](const Json& found) {
    fail(ErrorKind::model, "{}: {}: expected an object of strings, found {}", origin, kMetadataKey,
         brief(found));
  };
  if (!json.is_object()) refuse(json);
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) refuse(value);
    result.emplace(key, value.get<std::string>());
  }
  return result;
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& file) {
  SafetensorsFile result;
  result.file_ = MappedFile::open(file);
  const auto bytes = result.file_->bytes();
  const std::string origin = display(file);
  const auto length = static_cast<std::size_t>(header_length(*result.file_));
  const Json header = parse_json(text_of(bytes.subspan(kLengthBytes, length)), origin + ": header");
  if (!header.is_object())
    fail(ErrorKind::model, "{}: header: expected an object, found {}", origin, brief(header));

  const std::size_t data_begin = kLengthBytes + length;
  const std::uint64_t data_size = bytes.size() - data_begin;
  std::vector<decltype(entries_)::const_iterator> order;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) {
      result.metadata_ = read_metadata(json, origin);
      continue;
    }
    const EntryReader reader(origin, name, json);
    const ElementType& type = reader.type();
    Shape shape = reader.shape();
    const auto [begin, end] = reader.offsets();
    const auto size = bytes_of(shape, type.bits);
    if (!size)
      reader.refuse("shape {} of {} is no number of bytes that a file can hold", to_string(shape), type.name);
    if (begin > end) reader.refuse("data_offsets: [{}, {}] end before they begin", begin, end);
    if (end - begin != *size)
      reader.refuse("data_offsets [{}, {}] are {} bytes, but {} of shape {} are {}", begin, end, end - begin,
                    type.name, to_string(shape), *size);
    if (end > data_size)
      reader.refuse(
          "data_offsets [{}, {}] end after the {} bytes of data in the file, which is cut short or broken: "
          "fetch it again",
          begin, end, data_size);
    order.push_back(result.entries_
                        .emplace(name, Entry{std::string(type.name), std::move(shape), data_begin + begin,
                                             data_begin + end})
                        .first);
  }

  // In the file each must begin where the one before ends. A tensor without elements takes no place.
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::size_t reached = data_begin;
  for (const auto& entry : order) {
    const auto& [name, place] = *entry;
    if (place.begin != reached)
      fail(ErrorKind::model, "{}: {}: begins at byte {} of the data, where {}; the file is broken", origin,
           quote(name, 200), place.begin - data_begin,
           place.begin < reached ? fmt::format("another tensor lies until byte {}", reached - data_begin)
                                 : fmt::format("the one before ended at {}", reached - data_begin));
    reached = place.end;
    result.names_.push_back(name);
  }
  if (reached != bytes.size())
    fail(ErrorKind::model, "{}: has {} bytes after the last tensor's; the file is broken", origin,
         bytes.size() - reached);
  return result;
}

bool SafetensorsFile::contains(std::string_view name) const { return entries_.find(name) != entries_.end(); }

const SafetensorsFile::Entry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end())
    fail(ErrorKind::model, "{}: {}", display(path()), unknown_name("tensor", name, names_));
  return found->second;
}

std::string_view SafetensorsFile::type_name(std::string_view name) const { return entry(name).type; }

const Shape& SafetensorsFile::shape(std::string_view name) const { return entry(name).shape; }

Tensor SafetensorsFile::tensor(std::string_view name) const {
  static_assert(std::endian::native == std::endian::little,
                "the format is little-endian, and mapped as it is");
  const Entry& place = entry(name);
  const auto dtype = find_element_type(place.type)->dtype;
  if (!dtype)
    fail(ErrorKind::unsupported,
         "{}: {}: is {}, which perfuse doesn't compute with; convert it to BF16 or F32", display(path()),
         quote(name, 200), place.type);
  const auto bytes = file_->bytes().subspan(place.begin, place.end - place.begin);
  // A bool of another value than 0 or 1 is undefined behaviour in whoever reads it.
  if (*dtype == DType::boolean)
    for (const auto value : bytes)
      if (std::to_integer<unsigned>(value) > 1)
        fail(ErrorKind::model, "{}: {}: is BOOL and has a byte {}, expected 0 or 1", display(path()),
             quote(name, 200), std::to_integer<unsigned>(value));
  // The format promises no alignment (u8 before f32, headers not padded): such a tensor is copied.
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(*dtype) != 0) {
    Tensor copy = Tensor::empty(*dtype, place.shape);
    if (!bytes.empty()) std::memcpy(copy.mutable_bytes().data(), bytes.data(), bytes.size());
    return copy;
  }
  return Tensor::borrow(*dtype, place.shape, bytes.data(), file_);
}

}  // namespace perfuse
