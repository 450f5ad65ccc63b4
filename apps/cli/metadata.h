// The text inside a picture that says how it was made, and makes it again (--like).
//
//   perfuse          JSON: {"format": 1, "index": 2, "count": 4, "request": {…}, "run": {…}, "settings": {…}}
//                    the whole call, as several pictures of one call draw from one generator; this is picture `index`
//   prompt, negative_prompt, seed, model, Software   of this picture, for people
//   parameters       the same in one line a field, as image viewers show it
#pragma once

#include <filesystem>
#include <string>

#include "apps/cli/request.h"
#include "apps/cli/run_options.h"
#include "perfuse/image/image_text.h"

namespace perfuse::cli {

struct Record {
  std::int64_t index = 0, count = 1;
  Request request;
  RunOptions run;
  Json settings = Json::object();  // as the pipeline resolved them
};

// `request` with what the pipeline chose where it says nothing: seed, steps, guidance, size, …
[[nodiscard]] Request resolved_request(Request request, const Json& settings);

[[nodiscard]] ImageText image_text(const Record& record);

// Error(io or model) for a file that is no picture, Error(usage) for a picture without (readable) settings.
[[nodiscard]] Record read_record(const std::filesystem::path& picture);

// Prompt and seed of picture `index`.
[[nodiscard]] std::string prompt_of(const Request& request, std::int64_t index);

// One line of valid JSON: infinities and NaN, which JSON has not, as strings; broken UTF-8 replaced.
[[nodiscard]] std::string dump_json(const Json& json);

}  // namespace perfuse::cli
