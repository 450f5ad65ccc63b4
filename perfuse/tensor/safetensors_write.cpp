#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/core/text.h"
#include "perfuse/tensor/safetensors.h"
#include "perfuse/tensor/safetensors_format.h"

namespace perfuse {
namespace {

using namespace safetensors;

std::string json_string(const std::string& text, const std::filesystem::path& file) {
  if (find_invalid_utf8(text))
    fail(ErrorKind::usage, "{}: the name or text {} is not valid UTF-8", display(file), quote(text));
  return Json(text).dump();
}

}  // namespace

void write_safetensors(const std::filesystem::path& file,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata) {
  // Gaps are not allowed, so each is aligned only if wider types come first.
  std::vector<const std::pair<std::string, Tensor>*> order;
  std::set<std::string_view> names;
  for (const auto& entry : tensors) {
    if (entry.first == kMetadataKey || !names.insert(entry.first).second)
      fail(ErrorKind::usage, "{}: can't hold {} {}", display(file),
           entry.first == kMetadataKey ? "a tensor named" : "two tensors named", quote(entry.first));
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });

  std::vector<std::string> fields;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata)
      pairs.push_back(fmt::format("{}:{}", json_string(key, file), json_string(value, file)));
    fields.push_back(fmt::format("\"{}\":{{{}}}", kMetadataKey, fmt::join(pairs, ",")));
  }
  std::size_t end = 0;
  for (const auto* entry : order) {
    const auto& [name, tensor] = *entry;
    const std::size_t begin = std::exchange(end, end + tensor.nbytes());
    fields.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                 json_string(name, file), name_of(tensor.dtype()),
                                 fmt::join(tensor.shape(), ","), begin, end));
  }
  std::string header = fmt::format("{{{}}}", fmt::join(fields, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > kMostHeaderBytes)
    fail(ErrorKind::usage, "{}: its header would take {} bytes, the format allows {}", display(file),
         header.size(), kMostHeaderBytes);

  std::array<std::byte, kLengthBytes> length{};
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
  AtomicFile out(file);
  out.write(length);
  out.write(std::as_bytes(std::span(header)));
  for (const auto* entry : order) out.write(entry->second.bytes());
  out.commit();
}

}  // namespace perfuse
