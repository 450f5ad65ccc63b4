// What a T5 tokenizer folder says, put together from its files as transformers does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "perfuse/tokenizers/added_tokens.h"
#include "perfuse/tokenizers/charsmap.h"
#include "perfuse/tokenizers/unigram.h"

namespace perfuse {

struct T5Folder {
  Unigram unigram;
  Charsmap charsmap;
  std::vector<AddedToken> added;  // ids resolved; contents distinct
  std::int32_t pad = 0, eos = 1;
};

// Reads spiece.model (or, where that is absent, the model inside tokenizer.json), tokenizer_config.json,
// added_tokens.json and special_tokens_map.json; all but the model are optional. Error(model or io) naming
// file and field, also where two files give one token different ids.
[[nodiscard]] T5Folder read_t5_folder(const std::filesystem::path& folder);

}  // namespace perfuse
