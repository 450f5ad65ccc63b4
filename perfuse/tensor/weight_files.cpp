#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/json.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"
#include "perfuse/tensor/safetensors.h"
#include "perfuse/tensor/safetensors_format.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostListed = 10;

// Something of that name is there, be it a FIFO or a broken link: opening it says what is wrong.
bool present(const fs::path& file) {
  std::error_code error;
  return fs::exists(fs::symlink_status(file, error));
}

std::string listing(const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), kMostListed);
  std::string result =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) result += fmt::format(" and {} more", names.size() - shown);
  return result;
}

struct Found {
  fs::path file;
  bool index = false;
};

// The file to read, or nothing. Where a folder has both, the choice is that of the library that reads
// such a folder: diffusers takes the index first, transformers (whose files are model.*) the single file.
std::optional<Found> find_weights(const fs::path& folder, const std::string& variant) {
  const std::string infix = variant.empty() ? "" : "." + variant;
  std::vector<Found> found;
  for (const std::string base : {"diffusion_pytorch_model", "model"}) {
    Found index{folder / fmt::format("{}.safetensors.index{}.json", base, infix), true};
    Found single{folder / fmt::format("{}{}.safetensors", base, infix), false};
    if (base == "model") std::swap(index, single);
    for (auto& candidate : {index, single})
      if (present(candidate.file)) found.push_back(candidate);
  }
  if (found.empty()) return std::nullopt;
  if (found.size() > 1)
    log::warning("{}: has both {} and {}; reading the first, as diffusers does", display(folder),
                 found[0].file.filename().string(), found[1].file.filename().string());
  return found.front();
}

[[noreturn]] void fail_absent(const fs::path& folder, const std::string& variant) {
  std::vector<std::string> weights, checkpoints;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error) fail(ErrorKind::model, "{}: can't be read: {}", display(folder), error.message());
  for (const auto& entry : entries) {
    const std::string suffix = entry.path().extension();
    if (suffix == ".safetensors") weights.push_back(display(entry.path().filename()));
    if (suffix == ".bin" || suffix == ".ckpt" || suffix == ".pt" || suffix == ".pth")
      checkpoints.push_back(display(entry.path().filename()));
  }
  std::sort(weights.begin(), weights.end());
  std::sort(checkpoints.begin(), checkpoints.end());
  const std::string infix = variant.empty() ? "" : "." + variant;
  const std::string wanted = fmt::format(
      "diffusion_pytorch_model{0}.safetensors, model{0}.safetensors or an index (.safetensors.index{0}.json)",
      infix);
  if (!weights.empty())
    fail(ErrorKind::model, "{}: has {}, expected {}; {}", display(folder), listing(weights), wanted,
         variant.empty() ? "name the variant, if it is one"
                         : "there may be no such variant: leave it out or name another");
  if (!checkpoints.empty())
    fail(ErrorKind::model,
         "{0}: has only {1}, PyTorch checkpoints, which perfuse doesn't read; this converts the model: "
         "python3 -c "
         "'import diffusers; diffusers.DiffusionPipeline.from_pretrained(\"{2}\")"
         ".save_pretrained(\"{2}-safetensors\")'",
         display(folder), listing(checkpoints), display(folder.parent_path()));
  fail(ErrorKind::model, "{}: has no weights; expected {}", display(folder), wanted);
}

// weight_map, with every shard a plain file name: an index must not make us read elsewhere.
std::map<std::string, std::string, std::less<>> read_index(const fs::path& file) {
  const ConfigReader map = ConfigReader(file).object("weight_map");
  std::map<std::string, std::string, std::less<>> result;
  for (const auto& [name, value] : map.json().items()) {
    if (!value.is_string())
      map.fail_field(quote(name, 200), "expected a shard's file name, found " + brief(value));
    const auto& shard = value.get_ref<const std::string&>();
    if (shard.find('/') != std::string::npos || shard.find('\0') != std::string::npos ||
        shard.starts_with('.') || !shard.ends_with(".safetensors"))
      map.fail_field(
          quote(name, 200),
          fmt::format("expected the name of a .safetensors file in this folder, found {}", quote(shard)));
    result.emplace(name, shard);
  }
  if (result.empty()) fail(ErrorKind::model, "{}: weight_map: names no tensor", display(file));
  return result;
}

WeightInfo info_of(const SafetensorsFile& file, std::string_view name) {
  const auto type = file.type_name(name);
  const auto dtype = safetensors::find_element_type(type)->dtype;
  // tensor() has the message for a type that is not read.
  return {dtype ? *dtype : file.tensor(name).dtype(), file.shape(name)};
}

}  // namespace

WeightFiles WeightFiles::open(const fs::path& folder, const std::string& variant) {
  const bool plain = std::all_of(variant.begin(), variant.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
  if (!plain)
    fail(ErrorKind::usage, "variant {}: expected letters, digits, _ and -, as in \"fp16\"", quote(variant));
  std::error_code error;
  if (!fs::is_directory(folder, error))
    fail(ErrorKind::model, "{}: {}, expected a folder with weights", display(folder),
         present(folder) ? (error ? error.message() : "is not a folder") : "does not exist");
  const auto found = find_weights(folder, variant);
  if (!found) fail_absent(folder, variant);

  WeightFiles result;
  result.folder_ = folder;
  if (!found->index) {
    result.files_.push_back(SafetensorsFile::open(found->file));
    for (const auto& name : result.files_[0].names()) result.file_of_.emplace(name, 0);
    return result;
  }

  const auto weight_map = read_index(found->file);
  std::map<std::string, std::size_t, std::less<>> shards;  // name -> position in files_
  std::vector<std::string> missing;
  for (const auto& [name, shard] : weight_map)
    if (shards.emplace(shard, 0).second && !present(folder / shard)) missing.push_back(display(shard));
  if (!missing.empty())
    fail(ErrorKind::model, "{}: names {} shard{} that {} not in the folder: {}; fetch the rest of the model",
         display(found->file), missing.size(), missing.size() == 1 ? "" : "s",
         missing.size() == 1 ? "is" : "are", listing(missing));
  for (auto& [shard, position] : shards) {
    position = result.files_.size();
    result.files_.push_back(SafetensorsFile::open(folder / shard));
  }

  std::vector<std::string> misplaced;
  for (const auto& [name, shard] : weight_map) {
    const auto position = shards.find(shard)->second;
    if (!result.files_[position].contains(name))
      misplaced.push_back(fmt::format("{} ({})", quote(name, 200), shard));
    result.file_of_.emplace(name, position);
  }
  if (!misplaced.empty())
    fail(ErrorKind::model,
         "{}: names {} tensor{} that {} not in the shard it gives: {}; index and shards are of "
         "different models or versions",
         display(found->file), misplaced.size(), misplaced.size() == 1 ? "" : "s",
         misplaced.size() == 1 ? "is" : "are", listing(misplaced));
  // Shards are read whole by diffusers: what the index leaves out is there too.
  for (std::size_t i = 0; i < result.files_.size(); ++i)
    for (const auto& name : result.files_[i].names()) result.file_of_.emplace(name, i);
  return result;
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> result;
  for (const auto& [name, file] : file_of_) result.push_back(name);
  return result;
}

std::optional<WeightInfo> WeightFiles::find(std::string_view name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) return std::nullopt;
  return info_of(files_[found->second], name);
}

Tensor WeightFiles::tensor(std::string_view name) const {
  const auto found = file_of_.find(name);
  if (found == file_of_.end())
    fail(ErrorKind::model, "{}: {}", display(folder_), unknown_name("tensor", name, names()));
  return files_[found->second].tensor(name);
}

std::uint64_t WeightFiles::total_bytes() const {
  std::uint64_t result = 0;
  for (const auto& [name, position] : file_of_) {
    const auto& file = files_[position];
    const auto bits = safetensors::find_element_type(file.type_name(name))->bits;
    result += static_cast<std::uint64_t>(numel(file.shape(name))) * bits / 8;
  }
  return result;
}

void WeightFiles::release_pages() const {
  for (const auto& file : files_) file.file()->dont_need(file.file()->bytes());
}

}  // namespace perfuse
