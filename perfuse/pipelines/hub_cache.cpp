#include "perfuse/pipelines/hub_cache.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNameBytes = 96;  // the hub's own limit
constexpr std::size_t kMostRevisionBytes = 200;
constexpr std::size_t kMostRefBytes = 4096;
constexpr std::size_t kLeastHashDigits = 4;  // as git takes
constexpr std::size_t kMostListed = 10;
constexpr std::string_view kFolderPrefix = "models--";

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// A part of a repository's name, as the hub takes it; no "..", and no "--", which parts them in the cache.
bool is_name_part(std::string_view part) {
  return !part.empty() && is_plain(part.front()) && is_plain(part.back()) &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos &&
         std::all_of(part.begin(), part.end(), [](char c) { return is_plain(c) || c == '-' || c == '.'; });
}

// "main", "refs/pr/1", "v1.0": a path below refs/ that stays there.
bool is_revision(std::string_view text) {
  if (text.empty() || text.size() > kMostRevisionBytes) return false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('/', begin), text.size());
    const auto part = text.substr(begin, end - begin);
    if (part.empty() || part.front() == '.' || part.front() == '-') return false;
    if (!std::all_of(part.begin(), part.end(),
                     [](char c) { return is_plain(c) || c == '-' || c == '.' || c == '+'; }))
      return false;
    begin = end + 1;
  }
  return true;
}

bool is_hash(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string listing(std::vector<std::string> names) {
  const auto count = names.size();
  names.resize(std::min(count, kMostListed));
  for (auto& name : names) name = plain_or_quoted(name);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     count > kMostListed ? fmt::format(" and {} more", count - kMostListed) : "");
}

// A variable that is set and not empty; "~/…" is seen from HOME, as the hub's own library does.
std::optional<fs::path> folder_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string_view text(value);
  const char* home = std::getenv("HOME");
  if (home != nullptr && (text == "~" || text.starts_with("~/")))
    return fs::path(home) / text.substr(std::min<std::size_t>(2, text.size()));
  return fs::path(text);
}

std::string command(const HubName& name) {
  return fmt::format("hf download {}{}", name.repository,
                     name.revision.empty() ? "" : " --revision " + name.revision);
}

std::string to_string(const HubName& name) {
  return name.revision.empty() ? name.repository : name.repository + '@' + name.revision;
}

// "models--ORG--NAME" -> "ORG/NAME"
std::optional<std::string> repository_of(const std::string& folder_name) {
  if (!folder_name.starts_with(kFolderPrefix)) return std::nullopt;
  std::string name = folder_name.substr(kFolderPrefix.size());
  if (const auto at = name.find("--"); at != std::string::npos) name.replace(at, 2, "/");
  return name;
}

// The folder of the commit that refs/REVISION holds; nothing where there is no such ref.
std::optional<fs::path> snapshot_of_ref(const fs::path& repository, const HubName& name) {
  const fs::path ref = repository / "refs" / (name.revision.empty() ? "main" : name.revision);
  std::error_code error;
  if (!fs::is_regular_file(ref, error)) return std::nullopt;
  std::string commit = read_file(ref, kMostRefBytes);
  while (commit.ends_with('\n') || commit.ends_with('\r')) commit.pop_back();
  if (!is_hash(commit))
    fail(ErrorKind::model, "{}: expected a commit's hash, found {}; download again: {}", display(ref),
         quote(commit), command(name));
  const fs::path snapshot = repository / "snapshots" / commit;
  if (!is_folder(snapshot))
    fail(ErrorKind::model, "{}: names the commit {}, which {} does not have; download it: {}", display(ref),
         commit, display(repository / "snapshots"), command(name));
  return snapshot;
}

fs::path snapshot_in(const fs::path& repository, const HubName& name) {
  if (auto snapshot = snapshot_of_ref(repository, name)) return *snapshot;
  const auto snapshots = names_in(repository / "snapshots");
  if (name.revision.empty()) {
    if (snapshots.size() == 1) return repository / "snapshots" / snapshots.front();
    if (snapshots.empty())
      fail(ErrorKind::model, "{}: has no snapshot: the download of {} is not complete; finish it with {}",
           display(repository), name.repository, command(name));
    fail(ErrorKind::model, "{}: has no refs/main and {} snapshots: {}; say which: {}@{}", display(repository),
         snapshots.size(), listing(snapshots), name.repository, snapshots.front());
  }
  std::vector<std::string> matches;
  if (is_hash(name.revision) && name.revision.size() >= kLeastHashDigits)
    for (const auto& snapshot : snapshots)
      if (snapshot.starts_with(name.revision)) matches.push_back(snapshot);
  if (matches.size() == 1) return repository / "snapshots" / matches.front();
  if (matches.size() > 1)
    fail(ErrorKind::model, "{}: begins several commits in {}: {}", to_string(name), display(repository),
         listing(matches));
  auto known = names_in(repository / "refs");
  known.insert(known.end(), snapshots.begin(), snapshots.end());
  fail(ErrorKind::model, "{}: no such revision in {} (it has {}); download it: {}", to_string(name),
       display(repository), known.empty() ? "none" : listing(known), command(name));
}

}  // namespace

std::optional<HubName> parse_hub_name(std::string_view text) {
  HubName name;
  if (const auto at = text.find('@'); at != std::string_view::npos) {
    name.revision = text.substr(at + 1);
    if (!is_revision(name.revision)) return std::nullopt;
    text = text.substr(0, at);
  }
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || text.size() > kMostNameBytes ||
      !is_name_part(text.substr(0, slash)) || !is_name_part(text.substr(slash + 1)))
    return std::nullopt;
  name.repository = text;
  return name;
}

fs::path hub_cache_folder() {
  if (const auto folder = folder_from("HF_HUB_CACHE")) return *folder;
  if (const auto folder = folder_from("HF_HOME")) return *folder / "hub";
  if (const auto folder = folder_from("XDG_CACHE_HOME")) return *folder / "huggingface/hub";
  if (const auto folder = folder_from("HOME")) return *folder / ".cache/huggingface/hub";
  return {};
}

fs::path find_hub_snapshot(const HubName& name) {
  std::string folder_name = std::string(kFolderPrefix) + name.repository;
  folder_name.replace(folder_name.find('/'), 1, "--");
  const fs::path cache = hub_cache_folder();
  if (cache.empty() || !is_folder(cache / folder_name))
    fail(ErrorKind::model, "{}: no such folder, and no such model in the hub cache {}; download it: {}",
         to_string(name), cache.empty() ? "(HF_HUB_CACHE, HF_HOME and HOME are not set)" : display(cache),
         command(name));
  return snapshot_in(cache / folder_name, name);
}

fs::path resolve_model_folder(const fs::path& wanted) {
  std::error_code error;
  if (is_folder(wanted)) {
    const auto repository = repository_of(fs::canonical(wanted, error).filename().string());
    if (!repository || !is_folder(wanted / "snapshots")) return wanted;
    return snapshot_in(wanted, {*repository, ""});
  }
  if (fs::exists(fs::symlink_status(wanted, error))) return wanted;
  const auto name = parse_hub_name(wanted.native());
  return name ? find_hub_snapshot(*name) : wanted;
}

std::optional<HubName> hub_name_of(const fs::path& snapshot) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(snapshot, error), error);
  const fs::path snapshots = folder.parent_path();
  const auto repository = repository_of(snapshots.parent_path().filename().string());
  if (error || !repository || snapshots.filename() != "snapshots") return std::nullopt;
  return HubName{*repository, folder.filename().string()};
}

std::string incomplete_download(const fs::path& snapshot, std::string_view part) {
  const auto name = hub_name_of(snapshot);
  if (!name) return "";
  std::error_code error;
  const auto blobs = names_in(fs::weakly_canonical(snapshot, error).parent_path().parent_path() / "blobs");
  const auto unfinished = std::count_if(blobs.begin(), blobs.end(),
                                        [](const auto& blob) { return blob.ends_with(".incomplete"); });
  const bool missing = !part.empty() && !fs::exists(snapshot / part, error);
  if (unfinished == 0 && !missing) return "";
  const std::string found = unfinished == 0 ? fmt::format("it has no {}", part)
                                            : fmt::format("{} unfinished file{} in its blobs", unfinished,
                                                          unfinished == 1 ? "" : "s");
  return fmt::format("the download of {} is not complete ({}); finish it with {}", name->repository, found,
                     command(*name));
}

}  // namespace perfuse
