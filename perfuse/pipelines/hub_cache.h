// Models where `hf download ORG/NAME` leaves them: the local cache of the Hugging Face hub. Never the network.
//
//   HUB/models--ORG--NAME/refs/main              a commit's hash
//                        /snapshots/COMMIT/…     the model folder, whose files are links to
//                        /blobs/…                the content, named *.incomplete while it is being fetched
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace perfuse {

struct HubName {
  std::string repository;  // "ORG/NAME"
  std::string revision;    // a ref's name, a commit's hash or the beginning of one; "" is main
};

// "ORG/NAME" or "ORG/NAME@REVISION"; nothing for any other text, such as a path that could leave the cache.
[[nodiscard]] std::optional<HubName> parse_hub_name(std::string_view text);

// $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub; it may not
// exist. "" where not even HOME is set.
[[nodiscard]] std::filesystem::path hub_cache_folder();

// The snapshot's folder. Error(model) saying where was looked and the command that downloads it.
[[nodiscard]] std::filesystem::path find_hub_snapshot(const HubName& name);

// The model folder that `wanted` names: a folder is itself, but a cache's folder models--ORG--NAME is its snapshot
// (refs/main, or the only one); what is not there and reads ORG/NAME is looked up in the cache. Anything else comes
// back as it is. Errors of find_hub_snapshot.
[[nodiscard]] std::filesystem::path resolve_model_folder(const std::filesystem::path& wanted);

// The repository and commit of a folder HUB/models--ORG--NAME/snapshots/COMMIT.
[[nodiscard]] std::optional<HubName> hub_name_of(const std::filesystem::path& snapshot);

// "ORG/NAME: the download is not complete (…); finish it with hf download …" for a snapshot with unfinished blobs or
// without `part` (a file or folder in it); "" for anything else. For the end of a message about what is missing.
[[nodiscard]] std::string incomplete_download(const std::filesystem::path& snapshot, std::string_view part);

}  // namespace perfuse
