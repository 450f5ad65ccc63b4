// --request FILE: one JSON object, or JSON lines (an object a line), which make a batch.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/request.h"

namespace perfuse::cli {

struct FileRequest {
  std::string origin;  // "batch.jsonl:3", for messages
  Request request;
};

// JSON lines if the first line that is not blank is a value by itself and others follow. Error(usage), naming the
// line, for what is not JSON or not a request, for no request at all and for more than kMostRequests.
inline constexpr std::size_t kMostRequests = 100000;
[[nodiscard]] std::vector<FileRequest> parse_requests(std::string_view text, const std::string& origin);

// "-" is standard input. Error(io) for a file that can't be read.
[[nodiscard]] std::vector<FileRequest> read_requests(const std::filesystem::path& file);

}  // namespace perfuse::cli
