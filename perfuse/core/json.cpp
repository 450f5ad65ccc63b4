#include "perfuse/core/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/log.h"
#include "perfuse/core/text.h"

namespace perfuse {
namespace {

constexpr std::size_t kMostLevels = 200;
// A value of two bytes ("0,") takes 16 in memory, an empty list about 50: this keeps a hostile file under
// half a gigabyte. The longest real file, a safetensors header, has some ten thousand.
constexpr std::size_t kMostValues = 8'000'000;

[[noreturn]] void fail_at(std::string_view text, std::size_t offset, const std::string& origin,
                          const std::string& message) {
  const auto before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  // Columns count characters: bytes that don't continue a UTF-8 sequence.
  const auto column = std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }) +
                      1;
  fail(ErrorKind::model, "{}: line {}, column {}: {}", origin, line, column, message);
}

// What the parser behind can't see: where each string begins (it reports events, not places), how deep
// the text nests, NUL (which it takes for the end), and the bare numbers that are not JSON. Those become
// strings of the same length, so that places stay right; `bare` says which string stands for what.
struct Scan {
  std::string text;
  std::vector<std::size_t> strings;    // offset of the n-th string, keys included
  std::map<std::size_t, double> bare;  // number of the string -> its value
};

std::size_t end_of_string(std::string_view text, std::size_t quote) {
  std::size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

Scan scan(std::string_view text, const std::string& origin) {
  if (const auto at = find_invalid_utf8(text)) fail_at(text, *at, origin, "not valid UTF-8");
  if (const auto at = text.find('\0'); at != std::string_view::npos)
    fail_at(text, at, origin, "a NUL byte, not JSON");

  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::pair<std::string_view, double> kBare[] = {
      {"-Infinity", -kInfinity}, {"Infinity", kInfinity}, {"NaN", std::numeric_limits<double>::quiet_NaN()}};
  Scan result{std::string(text), {}, {}};
  std::size_t depth = 0, commas = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      if (result.strings.size() > 2 * kMostValues) fail_at(text, i, origin, "too many strings");
      result.strings.push_back(i);
      i = end_of_string(text, i);
      continue;
    }
    if (c == '[' || c == '{') {
      if (++depth > kMostLevels) fail_at(text, i, origin, fmt::format("more than {} levels", kMostLevels));
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    } else if (c == ',' && ++commas > kMostValues) {
      fail_at(text, i, origin, fmt::format("more than {} values", kMostValues));
    } else if (c == '-' || c == 'I' || c == 'N') {
      const auto* found = std::find_if(std::begin(kBare), std::end(kBare), [&](const auto& candidate) {
        return text.substr(i).starts_with(candidate.first);
      });
      if (found != std::end(kBare)) {
        const auto length = found->first.size();
        result.text.replace(i, length, length, '0');
        result.text[i] = result.text[i + length - 1] = '"';
        result.bare.emplace(result.strings.size(), found->second);
        result.strings.push_back(i);
        i += length;
        continue;
      }
    }
    ++i;
  }
  return result;
}

// Builds the value from the parser's events. A container is filled on a stack and moved into its parent
// when it ends.
class Builder {
 public:
  Builder(std::string_view text, const Scan& scan, const std::string& origin)
      : text_(text), scan_(scan), origin_(origin) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // never in text
  bool string(std::string& value) {
    const auto bare = scan_.bare.find(next_string_++);
    if (bare != scan_.bare.end()) return add(bare->second);
    return add(std::move(value));
  }
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    const std::size_t offset = scan_.strings[next_string_];
    if (scan_.bare.contains(next_string_++))
      fail_at(text_, offset, origin_, "expected a key in double quotes");
    auto& level = levels_.back();
    if (!level.keys.insert(value).second)
      fail_at(text_, offset, origin_, fmt::format("the key {} is there twice", quote(value)));
    level.key = std::move(value);
    return true;
  }
  // `position` counts the bytes read so far, the end of the text as one.
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    // The end of the word that stopped the parser. (`token` begins at the last string or number.)
    constexpr std::size_t kMostShown = 20;
    std::size_t end = std::min(position, text_.size()), begin = end;
    while (
        begin > 0 && end - begin < kMostShown &&
        (begin == end || std::string_view(" \t\r\n,:[]{}").find(text_[begin - 1]) == std::string_view::npos))
      --begin;
    const auto within = [&](std::size_t i) {
      return (static_cast<unsigned char>(text_[i]) & 0xc0u) == 0x80u;
    };
    while (begin > 0 && begin < text_.size() && within(begin)) --begin;
    while (end < text_.size() && within(end)) ++end;
    const auto found = text_.substr(begin, end - begin);
    std::string_view reason = error.what();
    // "[json.exception…] parse error at line 1, column 2: syntax error while parsing X - REASON; last read: 'Y'"
    for (const std::string_view mark : {"] ", " - "})
      if (const auto at = reason.find(mark); at != std::string_view::npos)
        reason.remove_prefix(at + mark.size());
    for (const std::string_view mark : {"; last read:", " parsing '"})
      reason = reason.substr(0, reason.find(mark));
    const bool at_end = position > text_.size() || text_.empty();
    fail_at(
        text_, at_end ? text_.size() : position - 1, origin_,
        at_end ? "not JSON: it ends too early" : fmt::format("not JSON: {} at {}", reason, quote(found, 40)));
  }

  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json value;
    std::string key;
    std::set<std::string, std::less<>> keys;
  };

  bool open(Json value) {
    levels_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool close() {
    Json value = std::move(levels_.back().value);
    levels_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (auto& level = levels_.back(); level.value.is_array()) {
      level.value.push_back(std::move(value));
    } else {
      // Straight to the end of the underlying vector: insertion by key searches it, n² in all.
      level.value.get_ref<Json::object_t&>().emplace_back(std::move(level.key), std::move(value));
    }
    return true;
  }

  std::string_view text_;
  const Scan& scan_;
  const std::string& origin_;
  std::size_t next_string_ = 0;
  std::vector<Level> levels_;
  Json root_;
};

constexpr std::size_t kBriefCharacters = 60;

// Appends `value` until `out` is longer than a brief can be.
void append_brief(std::string& out, const Json& value) {
  constexpr std::size_t kEnough = 4 * kBriefCharacters;  // bytes that surely hold as many characters
  const auto list = [&](char open, char close, const auto& write_entry) {
    out += open;
    bool first = true;
    for (auto it = value.begin(); it != value.end() && out.size() <= kEnough; ++it) {
      if (!std::exchange(first, false)) out += ", ";
      write_entry(it);
    }
    out += close;
  };
  if (value.is_string())
    out += quote(value.get_ref<const std::string&>(), kBriefCharacters - 2);
  else if (value.is_array())
    list('[', ']', [&](const auto& it) { append_brief(out, *it); });
  else if (value.is_object())
    list('{', '}', [&](const auto& it) {
      out += quote(it.key(), kBriefCharacters) + ": ";
      append_brief(out, *it);
    });
  else if (value.is_number_float() && !std::isfinite(value.get<double>()))
    out += std::isnan(value.get<double>()) ? "NaN" : value.get<double>() > 0 ? "Infinity" : "-Infinity";
  else
    out += value.dump();
}

std::string range(std::string_view what, std::int64_t least, std::int64_t most) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min(),
                 kMost = std::numeric_limits<std::int64_t>::max();
  if (least == kLeast && most == kMost) return std::string(what);
  if (most == kMost) return fmt::format("{} of at least {}", what, least);
  return fmt::format("{} from {} to {}", what, least, most);
}

std::optional<std::int64_t> integer_within(const Json& value, std::int64_t least, std::int64_t most) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  const auto result = value.get<std::int64_t>();
  return result < least || result > most ? std::nullopt : std::optional(result);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& origin) {
  const Scan scanned = scan(text, origin);
  Builder builder(text, scanned, origin);
  Json::sax_parse(scanned.text, &builder);  // a refusal is thrown from within
  return builder.take();
}

Json read_json(const std::filesystem::path& file, std::size_t most_bytes) {
  return parse_json(read_file(file, most_bytes), display(file));
}

std::string brief(const Json& value) {
  std::string text;
  append_brief(text, value);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0u) != 0x80u && ++characters > kBriefCharacters) {
      // The 60th character gives way to the dots.
      do --i;
      while ((static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80u);
      return text.substr(0, i) + "…";
    }
  return text;
}

ConfigReader::ConfigReader(Json json, std::string origin)
    : json_(std::move(json)), origin_(std::move(origin)) {
  if (!json_.is_object())
    fail(ErrorKind::model, "{}: expected a JSON object, found {}", origin_, brief(json_));
}

ConfigReader::ConfigReader(const std::filesystem::path& file)
    : ConfigReader(read_json(file), display(file)) {}

const Json* ConfigReader::find(std::string_view key) const {
  asked_.emplace(key);
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigReader::has(std::string_view key) const { return find(key) != nullptr; }

bool ConfigReader::is_null(std::string_view key) const {
  const auto found = json_.find(key);
  return found != json_.end() && found->is_null();
}

void ConfigReader::fail_field(std::string_view key, std::string_view message) const {
  fail(ErrorKind::model, "{}: {}{}: {}", origin_, prefix_, plain_or_quoted(key), message);
}

// Each reader below: `read` turns the JSON value into the result, or into nothing where it is not what
// `expected` describes.
namespace {

template <class T, class Read>
T field(const ConfigReader& reader, std::string_view key, const Json* value, std::optional<T>& fallback,
        const std::string& expected, const Read& read) {
  if (value == nullptr) {
    if (!fallback) reader.fail_field(key, "missing; expected " + expected);
    return std::move(*fallback);
  }
  std::optional<T> result = read(*value);
  if (!result) reader.fail_field(key, fmt::format("expected {}, found {}", expected, brief(*value)));
  return std::move(*result);
}

// A list whose entries `read` turns into T; the message names the entry that it can't.
template <class T, class Read>
std::vector<T> list_field(const ConfigReader& reader, std::string_view key, const Json* value,
                          std::optional<std::vector<T>>& fallback, const std::string& entry,
                          const Read& read) {
  const auto convert = [&](const Json& list) -> std::optional<std::vector<T>> {
    if (!list.is_array()) return std::nullopt;
    std::vector<T> result;
    for (std::size_t i = 0; i < list.size(); ++i) {
      auto converted = read(list[i]);
      if (!converted)
        reader.fail_field(fmt::format("{}[{}]", key, i),
                          fmt::format("expected {}, found {}", entry, brief(list[i])));
      result.push_back(std::move(*converted));
    }
    return result;
  };
  return field(reader, key, value, fallback, "a list, each " + entry, convert);
}

std::optional<std::string> as_string(const Json& value) {
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<double> as_finite(const Json& value) {
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

}  // namespace

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t least, std::int64_t most,
                                   std::optional<std::int64_t> fallback) const {
  return field(*this, key, find(key), fallback, range("an integer", least, most),
               [&](const Json& value) { return integer_within(value, least, most); });
}

double ConfigReader::number(std::string_view key, std::optional<double> fallback, bool allow_infinite) const {
  return field(*this, key, find(key), fallback, allow_infinite ? "a number" : "a finite number",
               [&](const Json& value) -> std::optional<double> {
                 if (!allow_infinite) return as_finite(value);
                 const bool number = value.is_number() && !std::isnan(value.get<double>());
                 return number ? std::optional(value.get<double>()) : std::nullopt;
               });
}

bool ConfigReader::boolean(std::string_view key, std::optional<bool> fallback) const {
  return field(*this, key, find(key), fallback, "true or false", [](const Json& value) {
    return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
  });
}

std::string ConfigReader::string(std::string_view key, std::optional<std::string> fallback) const {
  return field(*this, key, find(key), fallback, "a string", as_string);
}

std::string ConfigReader::choice(std::string_view key, std::initializer_list<std::string_view> allowed,
                                 std::optional<std::string> fallback) const {
  std::string expected = "one of";
  for (const auto name : allowed)
    expected += fmt::format("{} \"{}\"", name == *allowed.begin() ? "" : ",", name);
  return field(*this, key, find(key), fallback, expected, [&](const Json& value) {
    auto name = as_string(value);
    if (name && std::find(allowed.begin(), allowed.end(), *name) == allowed.end()) name.reset();
    return name;
  });
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key, std::int64_t least, std::int64_t most,
                                                 std::optional<std::vector<std::int64_t>> fallback) const {
  return list_field(*this, key, find(key), fallback, range("an integer", least, most),
                    [&](const Json& value) { return integer_within(value, least, most); });
}

std::vector<double> ConfigReader::numbers(std::string_view key,
                                          std::optional<std::vector<double>> fallback) const {
  return list_field(*this, key, find(key), fallback, "a finite number", as_finite);
}

std::vector<std::string> ConfigReader::strings(std::string_view key,
                                               std::optional<std::vector<std::string>> fallback) const {
  return list_field(*this, key, find(key), fallback, "a string", as_string);
}

ConfigReader ConfigReader::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) fail_field(key, "missing; expected an object");
  if (!value->is_object()) fail_field(key, "expected an object, found " + brief(*value));
  ConfigReader inner(*value, origin_);
  inner.prefix_ = fmt::format("{}{}.", prefix_, plain_or_quoted(key));
  return inner;
}

void ConfigReader::refuse_unless(std::string_view key, std::initializer_list<Json> harmless,
                                 std::string_view why) const {
  const Json* value = find(key);
  if (value == nullptr || std::find(harmless.begin(), harmless.end(), *value) != harmless.end()) return;
  fail(ErrorKind::unsupported, "{}: {}{}: {}; {}", origin_, prefix_, plain_or_quoted(key), brief(*value),
       why);
}

void ConfigReader::report_unread(std::initializer_list<std::string_view> without_effect) const {
  std::string unknown, idle;
  for (const auto& [key, value] : json_.items()) {
    if (asked_.contains(key) || key.starts_with('_') || value.is_null()) continue;
    const bool known = std::find(without_effect.begin(), without_effect.end(), key) != without_effect.end();
    std::string& list = known ? idle : unknown;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", plain_or_quoted(key));
  }
  if (!unknown.empty()) log::warning("{}: not known here, without effect: {}", origin_, unknown);
  if (!idle.empty()) log::debug("{}: without effect on pictures: {}", origin_, idle);
}

}  // namespace perfuse
