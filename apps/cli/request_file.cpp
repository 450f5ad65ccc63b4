#include "apps/cli/request_file.h"

#include <fmt/format.h>

#include <utility>

#include "apps/cli/standard_streams.h"
#include "perfuse/core/error.h"

namespace perfuse::cli {
namespace {

constexpr std::size_t kMostFileBytes = 64u << 20;
constexpr std::string_view kBlank = " \t\r";

struct Line {
  std::size_t number;  // from 1
  std::string_view text;
};

std::vector<Line> lines_that_are_not_blank(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0, number = 1; begin < text.size(); ++number) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    if (line.find_first_not_of(kBlank) != std::string_view::npos) lines.push_back({number, line});
    begin = end + 1;
  }
  return lines;
}

// A request that is not JSON is a mistake of the caller, not of a model.
Json parse(std::string_view text, const std::string& origin) {
  try {
    return parse_json(text, origin);
  } catch (const Error& error) {
    throw Error(ErrorKind::usage, error.what());
  }
}

bool is_json(std::string_view text) {
  try {
    (void)parse_json(text, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<FileRequest> parse_requests(std::string_view text, const std::string& origin) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark, as some editors write
  const auto lines = lines_that_are_not_blank(text);
  if (lines.empty()) fail(ErrorKind::usage, "{}: empty; expected a JSON object of call arguments", origin);
  if (lines.size() == 1 || !is_json(lines.front().text))
    return {{origin, read_request(parse(text, origin), origin)}};

  if (lines.size() > kMostRequests)
    fail(ErrorKind::usage, "{}: {} requests, at most {} are taken", origin, lines.size(), kMostRequests);
  std::vector<FileRequest> requests;
  for (const auto& line : lines) {
    auto place = fmt::format("{}:{}", origin, line.number);
    auto request = read_request(parse(line.text, place), place);
    requests.push_back({std::move(place), std::move(request)});
  }
  return requests;
}

std::vector<FileRequest> read_requests(const std::filesystem::path& file) {
  return parse_requests(read_text(file, kMostFileBytes),
                        is_standard_input(file) ? "standard input" : file.string());
}

}  // namespace perfuse::cli
