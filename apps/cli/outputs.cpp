#include "apps/cli/outputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "apps/cli/standard_streams.h"
#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"

namespace perfuse::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostStem = 60;
constexpr std::string_view kStandardOutput = "-";
constexpr std::size_t kMostDigits = 9;

struct Placeholder {
  std::size_t begin, size;
  std::size_t width;  // digits, with leading zeros
};

// "{}", "{:5}" or "{:05}" at or after `from`.
std::optional<Placeholder> find_placeholder(std::string_view pattern, std::size_t from) {
  for (auto begin = pattern.find('{', from); begin != std::string_view::npos;
       begin = pattern.find('{', begin + 1)) {
    const auto end = pattern.find('}', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const auto inside = pattern.substr(begin + 1, end - begin - 1);
    if (inside.empty()) return Placeholder{begin, 2, 1};
    if (inside.front() != ':') continue;
    std::size_t width = 0;
    const auto [rest, error] = std::from_chars(inside.data() + 1, inside.data() + inside.size(), width);
    if (error == std::errc{} && rest == inside.data() + inside.size() && width >= 1 && width <= kMostDigits)
      return Placeholder{begin, inside.size() + 2, width};
  }
  return std::nullopt;
}

class NumberedNames {
 public:
  NumberedNames(const std::string& pattern, std::size_t pictures) : pattern_(pattern) {
    place_ = find_placeholder(pattern_, 0);
    if (place_ && find_placeholder(pattern_, place_->begin + place_->size))
      fail(ErrorKind::usage, "--output {}: more than one place for the picture's number", quote(pattern));
    if (place_ || pictures == 1) return;
    const fs::path file(pattern_);
    place_ = Placeholder{pattern_.size() - file.extension().string().size(), 2, 1};
    pattern_.insert(place_->begin, "-{}");
    ++place_->begin;
  }

  std::string next() {
    if (!place_) return pattern_;
    std::string name = pattern_;
    return name.replace(place_->begin, place_->size, fmt::format("{:0{}}", number_++, place_->width));
  }

 private:
  std::string pattern_;
  std::optional<Placeholder> place_;
  std::size_t number_ = 0;
};

// Standard output under one of its names, "-" or a path.
bool is_standard_output(const std::string& pattern) {
  return pattern == "-" || named_descriptor(pattern) == STDOUT_FILENO;
}

// A FIFO or a device: takes one picture, and its name need not say the format.
bool is_stream(const fs::path& file) {
  if (named_descriptor(file)) return true;
  std::error_code error;
  const auto status = fs::status(file, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

bool is_folder(const std::string& pattern) {
  std::error_code error;
  return pattern.empty() || pattern.ends_with('/') || fs::is_directory(pattern, error);
}

ImageFormat settle_format(const fs::path& file, std::optional<ImageFormat> wanted) {
  const auto by_suffix = image_format_of(file);
  if (is_stream(file)) return wanted.value_or(by_suffix.value_or(ImageFormat::png));
  const std::string suffix = file.extension().string();
  if (wanted && !suffix.empty() && by_suffix != wanted)
    fail(ErrorKind::usage, "--output {}: the suffix {} is not one of --format {}", display(file),
         quote(suffix), *wanted == ImageFormat::png ? "png" : "jpeg");
  if (wanted) return *wanted;
  if (!by_suffix)
    fail(ErrorKind::usage,
         "--output {}: the name has {}; expected .png, .jpg or .jpeg, or --format png or jpeg for a name "
         "without",
         display(file), suffix.empty() ? "no suffix" : "the suffix " + quote(suffix));
  return *by_suffix;
}

// The same for two names of one file; the file need not exist, nor what a link leads to.
std::string identity(fs::path file) {
  std::error_code error;
  for (int i = 0; i < 40 && fs::is_symlink(file, error); ++i)  // Linux follows no more than 40
    file = file.parent_path() / fs::read_symlink(file, error);
  const auto canonical = fs::weakly_canonical(fs::absolute(file, error), error);
  return error ? file.lexically_normal().string() : canonical.string();
}

void check_standard_output_for_a_picture() {
  if (::isatty(STDOUT_FILENO) != 0)
    fail(ErrorKind::usage,
         "--output -: standard output is a terminal; send the picture to a file or a program");
  if (const int flags = ::fcntl(STDOUT_FILENO, F_GETFL); flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
    fail(ErrorKind::io, "standard output: closed, or not open for writing");
}

// That a file could be made in it.
void check_folder(const fs::path& folder) {
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error))
    fail(ErrorKind::io, "--output {}/: {}; pictures are written into a folder that exists", display(folder),
         fs::exists(folder, error) ? "is not a folder" : "no such folder");
  check_folder_writable(folder);
}

}  // namespace

std::string file_stem(std::string_view prompt) {
  std::string stem;
  for (const char c : prompt) {
    if (stem.size() >= kMostStem) break;
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      stem += c;
    else if (c >= 'A' && c <= 'Z')
      stem += static_cast<char>(c - 'A' + 'a');
    else if (!stem.empty() && stem.back() != '-')
      stem += '-';
  }
  while (stem.ends_with('-')) stem.pop_back();
  return stem.empty() ? "picture" : stem;
}

fs::path OutputFile::choice(std::size_t number) const {
  const std::string count = number == 1 ? "" : fmt::format("-{}", number);
  return file.string() + count + std::string(suffix_of(format));
}

ImageFormat parse_image_format(const std::string& origin, const std::string& text) {
  if (text == "png") return ImageFormat::png;
  if (text == "jpeg" || text == "jpg") return ImageFormat::jpeg;
  fail(ErrorKind::usage, "{}: expected png or jpeg, found {}", origin, quote(text));
}

OutputFiles plan_outputs(const std::vector<OutputWish>& wishes) {
  const auto pattern_of = [](const OutputWish& wish) {
    return is_standard_output(wish.pattern) ? std::string(kStandardOutput) : wish.pattern;
  };
  std::map<std::string, std::size_t> pictures;
  for (const auto& wish : wishes) pictures[pattern_of(wish)] += wish.prompts.size();

  std::map<std::string, NumberedNames> numbered;
  OutputFiles files;
  for (const auto& wish : wishes) {
    const std::string pattern = pattern_of(wish);
    const bool standard_output = pattern == kStandardOutput;
    if (pictures[pattern] > 1 && (standard_output || is_stream(pattern)))
      fail(ErrorKind::usage, "--output {}: takes one picture, there are {}", quote(wish.pattern, 200),
           pictures[pattern]);
    auto& names = files.emplace_back();
    for (const auto& prompt : wish.prompts) {
      if (standard_output)
        names.push_back({OutputFile::Kind::standard_output, pattern, wish.format.value_or(ImageFormat::png)});
      else if (is_folder(pattern))
        names.push_back({OutputFile::Kind::chosen, fs::path(pattern) / file_stem(prompt),
                         wish.format.value_or(ImageFormat::png)});
      else {
        const fs::path file = numbered.try_emplace(pattern, pattern, pictures[pattern]).first->second.next();
        names.push_back({OutputFile::Kind::given, file, settle_format(file, wish.format)});
      }
    }
  }
  return files;
}

void check_outputs(const OutputFiles& outputs, const std::vector<ReservedFile>& reserved) {
  std::map<std::string, std::string> owner;
  for (const auto& [option, file] : reserved) {
    const auto [before, fresh] = owner.emplace(identity(file), option);
    if (!fresh) fail(ErrorKind::usage, "{} {}: {} uses that file", option, display(file), before->second);
  }
  for (const auto& files : outputs)
    for (const auto& output : files) {
      if (output.kind == OutputFile::Kind::standard_output) {
        check_standard_output_for_a_picture();
        continue;
      }
      if (output.kind == OutputFile::Kind::chosen) {
        check_folder(output.file.parent_path());
        continue;
      }
      const auto& file = output.file;
      if (named_descriptor(file) == STDERR_FILENO)
        fail(ErrorKind::usage, "--output {}: messages go there; - is standard output", display(file));
      check_writable(file);
      const auto [before, fresh] = owner.emplace(identity(file), "another picture");
      if (!fresh) fail(ErrorKind::usage, "--output {}: {} uses that file", display(file), before->second);
    }
}

bool uses_standard_output(const OutputFiles& outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [](const auto& files) {
    return std::any_of(files.begin(), files.end(), [](const OutputFile& output) {
      return output.kind == OutputFile::Kind::standard_output;
    });
  });
}

fs::path save_picture(const Image& image, const ImageText& text, const OutputFile& output,
                      const OutputFiles& outputs) {
  const auto bytes = image.encode(output.format, text, display(output.file));
  if (output.kind == OutputFile::Kind::standard_output) {
    write_standard_output({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return output.file;
  }
  if (output.kind == OutputFile::Kind::given) {
    write_file(output.file, bytes);
    return output.file;
  }
  std::set<std::string> given;  // a later request's own name must not replace this picture
  for (const auto& files : outputs)
    for (const auto& other : files)
      if (other.kind == OutputFile::Kind::given) given.insert(identity(other.file));
  std::size_t skipped = 0;
  return write_new_file(
      [&](std::size_t number) {
        while (given.contains(identity(output.choice(number + skipped)))) ++skipped;
        return output.choice(number + skipped);
      },
      bytes);
}

}  // namespace perfuse::cli
