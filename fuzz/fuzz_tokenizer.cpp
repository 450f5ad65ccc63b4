// A tokenizer folder of which one file is hostile, and a hostile text.
//
// Input: one byte for the file, one for the text's length, the text, the file's bytes.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "perfuse/core/error.h"
#include "perfuse/tokenizers/t5.h"
#include "perfuse/tokenizers/text_case.h"
#include "tests/tokenizers/small_model.h"

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("perfuse_fuzz_tokenizer_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  void remove(std::string_view name) const { fs::remove(path_ / name); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  static const std::string good_model = perfuse::test::small_model();
  constexpr std::array<std::string_view, 5> kFiles = {"spiece.model", "tokenizer_config.json",
                                                      "added_tokens.json", "special_tokens_map.json",
                                                      "tokenizer.json"};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() < 2) return 0;
  const std::string_view file = kFiles[data[0] % kFiles.size()];
  const std::string_view text = input.substr(2, data[1]);
  const std::string_view bytes = input.substr(2 + text.size());

  folder.remove("spiece.model");
  if (file != "spiece.model" && file != "tokenizer.json") folder.write("spiece.model", good_model);
  folder.write(file, bytes);
  try {
    const auto tokenizer = perfuse::T5Tokenizer::from_pretrained(folder.path());
    (void)tokenizer.encode_batch({perfuse::lower_and_strip(text), std::string(text)}, 8);
  } catch (const perfuse::Error&) {  // anything else, std::bad_alloc among them, is a finding
  }
  folder.remove(file);
  return 0;
}
