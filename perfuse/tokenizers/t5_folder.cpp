#include "perfuse/tokenizers/t5_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "perfuse/core/error.h"
#include "perfuse/core/file.h"
#include "perfuse/core/json.h"
#include "perfuse/core/text.h"
#include "perfuse/tokenizers/base64.h"
#include "perfuse/tokenizers/sentencepiece_model.h"

namespace perfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostModelBytes = 32u << 20;  // UMT5's, the largest known, has 4.5 MB
constexpr std::int32_t kUnknownId = 2;              // fixed in transformers' T5Tokenizer
constexpr std::int64_t kMostIds = 10'000'000;
constexpr std::size_t kLongestToken = 256;  // bytes

// A token as one of the files has it.
struct Declared {
  AddedToken token;
  std::string origin;  // file and field
};

std::optional<ConfigReader> read_optional(const fs::path& file) {
  std::error_code error;
  if (fs::symlink_status(file, error).type() == fs::file_type::not_found) return std::nullopt;
  return ConfigReader(file);
}

struct Vocabulary {
  std::vector<ScoredPiece> pieces;
  std::string charsmap;
  std::vector<std::string> special;  // control and user-defined pieces
  std::string origin;
};

Vocabulary from_spiece(const fs::path& file, std::int64_t extra_ids) {
  Vocabulary result;
  result.origin = file.string();
  auto model = parse_sentencepiece_model(read_file(file, kMostModelBytes), result.origin);
  using Type = SentencePieceModel::Type;
  if (model.pieces.size() <= kUnknownId || model.pieces[kUnknownId].type != Type::unknown)
    fail(ErrorKind::model, "{}: piece {} is not the unknown token: not a T5 vocabulary", result.origin,
         kUnknownId);
  std::set<std::string, std::less<>> known;  // <extra_id_*> that the model has itself
  for (auto& piece : model.pieces) {
    if (piece.type == Type::control || piece.type == Type::user_defined) result.special.push_back(piece.text);
    if (piece.text.starts_with("<extra_id_")) known.insert(piece.text);
    result.pieces.push_back({std::move(piece.text), static_cast<double>(piece.score)});
  }
  for (std::int64_t i = extra_ids - 1; i >= 0; --i) {
    auto text = fmt::format("<extra_id_{}>", i);
    if (known.contains(text)) continue;
    result.special.push_back(text);
    result.pieces.push_back({std::move(text), 0.0});
  }
  result.charsmap = std::move(model.charsmap);
  return result;
}

// The charsmap of a normalizer entry of tokenizer.json, or of the first one in a sequence that has one.
std::string find_charsmap(const Json& normalizer, const std::string& origin) {
  if (!normalizer.is_object()) return {};
  if (const auto list = normalizer.find("normalizers"); list != normalizer.end() && list->is_array()) {
    for (const auto& entry : *list)
      if (auto found = find_charsmap(entry, origin); !found.empty()) return found;
    return {};
  }
  const ConfigReader reader(normalizer, origin);
  if (!reader.has("precompiled_charsmap")) return {};
  auto bytes = decode_base64(reader.string("precompiled_charsmap"));
  if (!bytes) reader.fail_field("precompiled_charsmap", "expected base64");
  return *std::move(bytes);
}

Vocabulary from_tokenizer_json(const ConfigReader& file) {
  Vocabulary result;
  result.origin = file.origin();
  const auto model = file.object("model");
  if (const auto type = model.string("type", "Unigram"); type != "Unigram")
    fail(ErrorKind::unsupported, "{}: model.type is {}; a T5 tokenizer's is Unigram", file.origin(),
         quote(type));
  const auto vocab = model.json().find("vocab");
  if (vocab == model.json().end() || !vocab->is_array())
    model.fail_field("vocab", "expected a list of [piece, score]");
  for (const auto& entry : *vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      model.fail_field("vocab", "expected entries [piece, score], found " + brief(entry));
    result.pieces.push_back({entry[0].get<std::string>(), entry[1].get<double>()});
  }
  if (file.has("normalizer"))
    result.charsmap = find_charsmap(file.json().at("normalizer"), file.origin() + ": normalizer");
  return result;
}

// A token written as an object.
AddedToken parse_token(const ConfigReader& reader) {
  AddedToken token;
  token.content = reader.string("content");
  token.lstrip = reader.boolean("lstrip", false);
  token.rstrip = reader.boolean("rstrip", false);
  token.single_word = reader.boolean("single_word", false);
  token.normalized = reader.boolean("normalized", !reader.boolean("special", false));
  return token;
}

// Found in the raw text; no id yet.
AddedToken plain_token(std::string content) {
  AddedToken token;
  token.content = std::move(content);
  return token;
}

// A special token written as a string or an object; null stands for none.
std::optional<AddedToken> parse_named(const Json& value, const std::string& origin) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return plain_token(value.get<std::string>());
  if (!value.is_object()) fail(ErrorKind::model, "{}: expected a token, found {}", origin, brief(value));
  auto token = parse_token(ConfigReader(value, origin));
  token.normalized = false;
  return token;
}

std::string content_of(const ConfigReader& reader, std::string_view key, const std::string& fallback) {
  const auto found = reader.json().find(key);
  if (found == reader.json().end()) return fallback;
  const auto token = parse_named(*found, fmt::format("{}: {}", reader.origin(), key));
  return token ? token->content : fallback;
}

// Collects the tokens that the files declare, those with an id first.
class Collector {
 public:
  void add(AddedToken token, const std::string& origin) {
    const auto& content = token.content;
    if (content.empty() || content.size() > kLongestToken)
      fail(ErrorKind::model, "{}: a token of {} bytes, expected 1 to {}", origin, content.size(),
           kLongestToken);
    const auto [found, added] = index_.emplace(content, tokens_.size());
    if (added) {
      tokens_.push_back({std::move(token), origin});
      return;
    }
    auto& first = tokens_[found->second];
    if (first.token.id < 0 || token.id < 0 || first.token.id == token.id) return;
    fail(ErrorKind::model, "{}: token {} has the id {}, but {} in {}", origin, quote(content), token.id,
         first.token.id, first.origin);
  }

  // tokenizer_config.json: added_tokens_decoder, an object id -> token.
  void add_decoder(const ConfigReader& config) {
    const auto decoder = config.object("added_tokens_decoder");
    for (const auto& [key, value] : decoder.json().items()) {
      std::int32_t id = -1;
      const char* const end = key.data() + key.size();
      const auto [stop, error] = std::from_chars(key.data(), end, id);
      if (error != std::errc() || stop != end || id < 0 || id >= kMostIds)
        config.fail_field("added_tokens_decoder", "expected ids as keys, found " + quote(key));
      const ConfigReader reader(value, fmt::format("{}: added_tokens_decoder.{}", config.origin(), key));
      auto token = parse_token(reader);
      token.id = id;
      add(std::move(token), reader.origin());
    }
  }

  // added_tokens.json: an object content -> id.
  void add_legacy(const ConfigReader& file, const std::set<std::string, std::less<>>& special) {
    for (const auto& [content, value] : file.json().items()) {
      if (!value.is_number_integer() || value < 0 || value >= kMostIds)
        file.fail_field(quote(content), "expected an id from 0 to 9999999, found " + brief(value));
      auto token = plain_token(content);
      token.id = value.get<std::int32_t>();
      token.normalized = !special.contains(content);
      add(std::move(token), file.origin());
    }
  }

  // tokenizer.json: added_tokens, a list of tokens with ids.
  void add_list(const ConfigReader& file) {
    const auto found = file.json().find("added_tokens");
    if (found == file.json().end()) return;
    if (!found->is_array()) file.fail_field("added_tokens", "expected a list, found " + brief(*found));
    for (const auto& value : *found) {
      const ConfigReader reader(value, file.origin() + ": added_tokens");
      auto token = parse_token(reader);
      token.id = static_cast<std::int32_t>(reader.integer("id", 0, kMostIds - 1));
      add(std::move(token), reader.origin());
    }
  }

  // The named special tokens of tokenizer_config.json or special_tokens_map.json, in transformers' order: those without an
  // id get theirs in it.
  void add_named(const ConfigReader& file) {
    for (const auto* const key :
         {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
      if (file.has(key)) add_special(file.json().at(key), file, key);
    for (const auto* const key : {"additional_special_tokens", "extra_special_tokens"}) {
      if (!file.has(key)) continue;
      const Json& list = file.json().at(key);  // an object is name -> token
      if (!list.is_array() && !list.is_object())
        file.fail_field(key, "expected a list of tokens, found " + brief(list));
      for (const auto& value : list) add_special(value, file, key);
    }
  }

  // Gives every token its id: that of its piece, else the next one after the vocabulary, in the order of
  // the declared ids. A declared id must agree, for the model's embeddings were trained with it.
  [[nodiscard]] std::vector<AddedToken> resolve(const Unigram& unigram) && {
    std::stable_sort(tokens_.begin(), tokens_.end(), [](const Declared& a, const Declared& b) {
      return static_cast<std::uint32_t>(a.token.id) < static_cast<std::uint32_t>(b.token.id);  // −1 last
    });
    auto next = static_cast<std::int32_t>(unigram.pieces().size());
    std::vector<AddedToken> result;
    for (auto& [token, origin] : tokens_) {
      const std::int32_t piece = unigram.find(token.content);
      const std::int32_t id = piece >= 0 ? piece : next++;
      if (token.id >= 0 && token.id != id)
        fail(ErrorKind::model, "{}: token {} has the id {}, but {} {}", origin, quote(token.content),
             token.id, piece >= 0 ? "in the vocabulary" : "the next free one is", id);
      token.id = id;
      result.push_back(std::move(token));
    }
    return result;
  }

 private:
  void add_special(const Json& value, const ConfigReader& file, std::string_view key) {
    const auto origin = fmt::format("{}: {}", file.origin(), key);
    if (auto token = parse_named(value, origin)) add(*std::move(token), origin);
  }

  std::vector<Declared> tokens_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// tokenizer_config.json: refuses what would give other ids, and tells of what nobody reads.
void check_config(const ConfigReader& config) {
  constexpr auto kPadding = "T5's prompts are padded and cut on the right";
  config.refuse_unless("padding_side", {"right"}, kPadding);
  config.refuse_unless("truncation_side", {"right"}, kPadding);
  config.refuse_unless("split_special_tokens", {false}, "perfuse finds special tokens in a prompt");
  config.refuse_unless("add_prefix_space", {true}, "T5's words begin with a space");
  config.refuse_unless("unk_id", {kUnknownId}, "T5's unknown token is 2");
  config.refuse_unless("sp_model_kwargs", {Json::object()}, "perfuse doesn't sample segmentations");
  config.report_unread({"add_bos_token", "add_eos_token", "backend", "chat_template",
                        "clean_up_tokenization_spaces", "is_local", "legacy", "local_files_only",
                        "model_input_names", "model_max_length", "name_or_path", "pad_token_type_id",
                        "processor_class", "special_tokens_map_file", "tokenizer_class", "tokenizer_file",
                        "use_fast", "verbose"});
}

// tokenizer.json. Its pre_tokenizer and post_processor are not read, nor does transformers: T5's are what they are.
void check_tokenizer_json(const ConfigReader& file) {
  for (const auto* const key : {"padding", "truncation"})
    if (file.has(key))
      file.object(key).refuse_unless("direction", {"Right"}, "T5's prompts are padded and cut on the right");
  const auto model = file.object("model");
  model.refuse_unless("unk_id", {kUnknownId}, "T5's unknown token is 2");
  model.refuse_unless("byte_fallback", {false}, "T5's vocabulary has no bytes");
  for (const auto* const key : {"added_tokens", "normalizer"}) static_cast<void>(file.has(key));
  file.report_unread({"decoder", "post_processor", "pre_tokenizer", "version"});
}

// A folder may have the vocabulary twice. A difference would show as other ids, so one of them must go.
void check_same(const Vocabulary& spiece, const Vocabulary& json) {
  const auto count = std::min(spiece.pieces.size(), json.pieces.size());
  for (std::size_t i = 0; i < count; ++i)
    if (spiece.pieces[i].text != json.pieces[i].text)
      fail(ErrorKind::model, "{}: piece {} is {}, but {} in {}; remove the file that isn't the model's",
           json.origin, i, quote(json.pieces[i].text), quote(spiece.pieces[i].text), spiece.origin);
}

}  // namespace

T5Folder read_t5_folder(const fs::path& folder) {
  const auto config_file = folder / "tokenizer_config.json";
  const auto config = read_optional(config_file).value_or(ConfigReader(Json::object(), config_file.string()));
  const auto tokenizer_json = read_optional(folder / "tokenizer.json");

  const auto spiece = folder / "spiece.model";
  std::error_code error;
  const bool has_spiece = fs::symlink_status(spiece, error).type() != fs::file_type::not_found;
  if (!has_spiece && !tokenizer_json)
    fail(ErrorKind::model,
         "{}: neither spiece.model nor tokenizer.json is there: a T5 tokenizer needs one of them",
         folder.string());
  const auto extra_ids = config.integer("extra_ids", 0, 10'000, 100);
  auto vocabulary = has_spiece ? from_spiece(spiece, extra_ids) : from_tokenizer_json(*tokenizer_json);
  if (tokenizer_json) check_tokenizer_json(*tokenizer_json);
  if (has_spiece && tokenizer_json) check_same(vocabulary, from_tokenizer_json(*tokenizer_json));
  Charsmap charsmap;
  if (!vocabulary.charsmap.empty()) charsmap = Charsmap(vocabulary.charsmap, vocabulary.origin);
  Unigram unigram(std::move(vocabulary.pieces), kUnknownId, vocabulary.origin);

  Collector collector;
  std::optional<ConfigReader> map;
  if (config.has("added_tokens_decoder")) {
    collector.add_decoder(config);
  } else {
    map = read_optional(folder / "special_tokens_map.json");
    if (const auto added = read_optional(folder / "added_tokens.json")) {
      Collector named;
      named.add_named(config);
      if (map) named.add_named(*map);
      std::set<std::string, std::less<>> special(vocabulary.special.begin(), vocabulary.special.end());
      for (auto& token : std::move(named).resolve(unigram)) special.insert(std::move(token.content));
      collector.add_legacy(*added, special);
    }
    if (tokenizer_json) collector.add_list(*tokenizer_json);
  }
  collector.add_named(config);
  if (map) collector.add_named(*map);
  for (auto& text : vocabulary.special) collector.add(plain_token(std::move(text)), vocabulary.origin);
  const std::array<std::string, 3> names = {content_of(config, "pad_token", "<pad>"),
                                            content_of(config, "eos_token", "</s>"),
                                            content_of(config, "unk_token", "<unk>")};
  for (const auto& name : names) collector.add(plain_token(name), config_file.string());

  check_config(config);
  auto added = std::move(collector).resolve(unigram);
  const auto id_of = [&](const std::string& content) {
    return std::find_if(added.begin(), added.end(),
                        [&](const auto& token) { return token.content == content; })
        ->id;
  };
  const std::int32_t pad = id_of(names[0]), eos = id_of(names[1]);
  return {std::move(unigram), std::move(charsmap), std::move(added), pad, eos};
}

}  // namespace perfuse
