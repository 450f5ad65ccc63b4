// The safetensors file format: 8 bytes of header length, a JSON header, then the tensors' bytes.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/core/file.h"
#include "perfuse/tensor/tensor.h"

namespace perfuse {

// One file, mapped. Tensors are views of the map: no copy, and they keep it alive. (One that does not lie
// aligned for its type, which the format allows, is copied.)
class SafetensorsFile {
 public:
  // Checks the whole header before anything is handed out: length ≤ 100 MB and ≤ file, UTF-8 JSON without
  // duplicate keys, known types, non-negative sizes, size = product × type without overflow, ranges inside
  // the file, in order, without gap or overlap, last end = end of file. What is not safetensors is named
  // for what it is (a Git LFS pointer, an HTML page, an empty file, a zip/pickle checkpoint).
  // Error(model) "FILE: TENSOR: what was found, what was expected".
  [[nodiscard]] static SafetensorsFile open(const std::filesystem::path& file);

  [[nodiscard]] const std::filesystem::path& path() const { return file_->path(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // file order
  [[nodiscard]] bool contains(std::string_view name) const;
  // Throws Error(model) with near names where absent; Error(unsupported) for a type that
  // tensors don't have (F8_E4M3, I16, …), naming it.
  [[nodiscard]] Tensor tensor(std::string_view name) const;
  // The type as the file has it ("BF16", "F8_E4M3").
  [[nodiscard]] std::string_view type_name(std::string_view name) const;
  [[nodiscard]] const Shape& shape(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  [[nodiscard]] const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  struct Entry {
    std::string type;
    Shape shape;
    std::size_t begin = 0, end = 0;  // from the start of the file
  };
  const Entry& entry(std::string_view name) const;

  std::shared_ptr<const MappedFile> file_;
  std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Writes a file that appears whole or not at all. Tensors lie in the order given, wider types first, so that
// each is aligned. Error(usage) for two of one name, Error(io) as write_file.
void write_safetensors(const std::filesystem::path& file,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata = {});

// What a parameter recipe needs to know of a stored tensor.
struct WeightInfo {
  DType dtype;
  Shape shape;
};

// The weights of one component folder: one file, or shards with an index.
class WeightFiles {
 public:
  // Looks for BASE.safetensors.index.json, BASE.safetensors (BASE is diffusion_pytorch_model or model),
  // with a `variant` BASE.VARIANT.safetensors and BASE.safetensors.index.VARIANT.json. Every shard that the
  // index names must be a plain file name inside the folder and exist, every tensor be in the shard
  // that the index says. Only .bin files there: says that they must be converted. Error(model)/Error(io).
  [[nodiscard]] static WeightFiles open(const std::filesystem::path& folder, const std::string& variant = "");

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::vector<std::string> names() const;                       // sorted
  [[nodiscard]] std::optional<WeightInfo> find(std::string_view name) const;  // nothing where absent
  [[nodiscard]] Tensor tensor(std::string_view name) const;                   // throws where absent
  [[nodiscard]] std::uint64_t total_bytes() const;
  // Drops the pages of all files from resident memory (they are read again when touched).
  void release_pages() const;

 private:
  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t, std::less<>> file_of_;
};

}  // namespace perfuse
