// Where pictures go, settled and checked before the long work.
//
// "{}" in a name is the picture's number, from 0; "{:03}" the same with leading zeros. A name without it that is
// to take several pictures gets "-{}" before its suffix. "-" (or /dev/stdout) is standard output. Without a name, and
// in a folder that is given for one, a picture is called after its prompt and never replaces a file ("a-red-apple.png",
// "a-red-apple-2.png"); a name that was given does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perfuse/image/image.h"

namespace perfuse::cli {

struct OutputWish {
  std::string pattern;               // "": named after the prompts
  std::vector<std::string> prompts;  // one per picture
  std::optional<ImageFormat> format = std::nullopt;
};

struct OutputFile {
  enum class Kind {
    given,            // `file` is the name
    chosen,           // `file` is the name without number and suffix: "folder/a-red-apple"
    standard_output,  // `file` is "-"
  };
  Kind kind = Kind::given;
  std::filesystem::path file;
  ImageFormat format = ImageFormat::png;

  // The `number`th name, from 1, that a picture whose name is chosen may get.
  [[nodiscard]] std::filesystem::path choice(std::size_t number) const;
};

// The files of each wish. Wishes with the same pattern number their pictures on. Error(usage) for several pictures in
// one stream, for a suffix that is no picture's and for one that contradicts the format.
using OutputFiles = std::vector<std::vector<OutputFile>>;
[[nodiscard]] OutputFiles plan_outputs(const std::vector<OutputWish>& wishes);

// "png", "jpeg" or "jpg"; Error(usage) beginning with `origin` for another.
[[nodiscard]] ImageFormat parse_image_format(const std::string& origin, const std::string& text);

// "A red apple!" -> "a-red-apple"; "picture" where no letter or digit of ASCII is left.
[[nodiscard]] std::string file_stem(std::string_view prompt);

// A file that is read or written for another reason ("--dump-tensors").
struct ReservedFile {
  std::string option;
  std::filesystem::path file;
};

// Error(usage) for two pictures, or a picture and a reserved file, in one file, and for a picture on a terminal;
// Error(io) where one could not be written.
void check_outputs(const OutputFiles& outputs, const std::vector<ReservedFile>& reserved);

// Whether a picture goes to standard output, which then takes nothing else.
[[nodiscard]] bool uses_standard_output(const OutputFiles& outputs);

// Writes one of `outputs`; gives the name of the file, which for a chosen one is a new file that is none of the
// others' given names.
std::filesystem::path save_picture(const Image& image, const ImageText& text, const OutputFile& output,
                                   const OutputFiles& outputs);

}  // namespace perfuse::cli
