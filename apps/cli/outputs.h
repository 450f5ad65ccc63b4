// Names of the files that pictures go to, settled and checked before the long work.
//
// "{}" in a name is the picture's number, from 0; "{:03}" the same with leading zeros. A name without it that is
// to take several pictures gets "-{}" before its suffix. Without a name a picture is called after its prompt, in the
// current folder, and never replaces a file ("a-red-apple.png", "a-red-apple-2.png"); a name that was given does.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace perfuse::cli {

struct OutputWish {
  std::string pattern;               // "": named after the prompts
  std::vector<std::string> prompts;  // one per picture
};

// The files of each wish. Wishes with the same pattern number their pictures on.
using OutputFiles = std::vector<std::vector<std::filesystem::path>>;
[[nodiscard]] OutputFiles plan_outputs(const std::vector<OutputWish>& wishes);

// "A red apple!" -> "a-red-apple"; "picture" where no letter or digit of ASCII is left.
[[nodiscard]] std::string file_stem(std::string_view prompt);

// A file that is read or written for another reason ("--dump-tensors").
struct ReservedFile {
  std::string option;
  std::filesystem::path file;
};

// Error(usage) for a suffix that is no picture's and for two pictures, or a picture and a reserved file, in one
// file; Error(io) where one could not be written.
void check_outputs(const OutputFiles& outputs, const std::vector<ReservedFile>& reserved);

}  // namespace perfuse::cli
