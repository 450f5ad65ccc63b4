#include "apps/cli/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/text.h"
#include "perfuse/image/image.h"

namespace perfuse::cli {
namespace {

constexpr std::size_t kMostStem = 60;
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
    const std::filesystem::path file(pattern_);
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

class PromptNames {
 public:
  std::string next(std::string_view prompt) {
    const std::string stem = file_stem(prompt);
    for (std::size_t& number = last_[stem];;) {
      ++number;
      std::string name = number == 1 ? stem + ".png" : fmt::format("{}-{}.png", stem, number);
      // A dangling link is in the way as well. "a-2" may be one prompt's first name and another's second.
      if (std::filesystem::symlink_status(name).type() == std::filesystem::file_type::not_found &&
          taken_.insert(name).second)
        return name;
    }
  }

 private:
  std::map<std::string, std::size_t> last_;
  std::set<std::string> taken_;
};

// The same for two names of one file; the file need not exist, nor what a link leads to.
std::string identity(std::filesystem::path file) {
  std::error_code error;
  for (int i = 0; i < 40 && std::filesystem::is_symlink(file, error); ++i)  // Linux follows no more than 40
    file = file.parent_path() / std::filesystem::read_symlink(file, error);
  const auto canonical = std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  return error ? file.lexically_normal().string() : canonical.string();
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

OutputFiles plan_outputs(const std::vector<OutputWish>& wishes) {
  std::map<std::string, std::size_t> pictures;
  for (const auto& wish : wishes) pictures[wish.pattern] += wish.prompts.size();

  std::map<std::string, NumberedNames> numbered;
  PromptNames by_prompt;
  OutputFiles files;
  for (const auto& wish : wishes) {
    auto& names = files.emplace_back();
    for (const auto& prompt : wish.prompts)
      names.emplace_back(wish.pattern.empty()
                             ? by_prompt.next(prompt)
                             : numbered.try_emplace(wish.pattern, wish.pattern, pictures[wish.pattern])
                                   .first->second.next());
  }
  return files;
}

void check_outputs(const OutputFiles& outputs, const std::vector<ReservedFile>& reserved) {
  std::map<std::string, std::string> owner;
  for (const auto& [option, file] : reserved) {
    const auto [before, fresh] = owner.emplace(identity(file), option);
    if (!fresh) fail(ErrorKind::usage, "{} {}: {} uses that file", option, file.string(), before->second);
  }
  for (const auto& files : outputs)
    for (const auto& file : files) {
      check_image_suffix(file);
      check_writable(file);
      const auto [before, fresh] = owner.emplace(identity(file), "another picture");
      if (!fresh) fail(ErrorKind::usage, "--output {}: {} uses that file", file.string(), before->second);
    }
}

}  // namespace perfuse::cli
