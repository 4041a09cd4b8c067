#include <algorithm>
#include <charconv>
#include <set>

#include "io/text/tokenizers.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

using Named = TokenizerSettings::Named;

constexpr int64_t kMostBytes = int64_t(16) << 20;
constexpr int64_t kMostIds = int64_t(1) << 20;
constexpr size_t kMostLevels = 16;  // for config.json; values read are not nested
const std::set<std::string> kRoles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                      "pad_token", "cls_token", "mask_token"};
constexpr const char* kAdditional = "additional_special_tokens";

/// A receiver of one file's values.
class Reader : public JsonSink {
 public:
  Reader(const std::string& path, TokenizerSettings& out, SingleWord single_word)
      : path_(path), out_(out), single_word_(single_word) {}

  void open(Path path, bool) override {
    // An element of this list may be an object, whose members follow.
    if (path.size() == 1 && path[0] == kAdditional) open_ = nullptr;
  }

 protected:
  template <class T>
  T as(Path path, const JsonScalar& value, const char* what) const {
    const T* found = std::get_if<T>(&value);
    if (found == nullptr) fail(path, text("is no ", what));
    return *found;
  }
  [[noreturn]] void fail(Path path, const std::string& what) const {
    std::string key;
    for (const std::string& part : path) key += (key.empty() ? "" : ".") + shown(part);
    refuse(Exit::kInput, path_, ": ", key, ": ", what,
           "; take the file as the tokenizer's maker has written it");
  }
  int32_t id_of(Path path, int64_t id) const {
    if (id < 0 || id >= kMostIds) fail(path, text("id ", id, " is not 0 to ", kMostIds - 1));
    return int32_t(id);
  }
  /// Reads a flag or the text of an added token.
  void read_member(Path path, const JsonScalar& value, AddedToken& token) const {
    const std::string& member = path.back();
    if (member == "content") token.text = as<std::string>(path, value, "text");
    if (member == "lstrip") token.strips_left = as<bool>(path, value, "boolean");
    if (member == "rstrip") token.strips_right = as<bool>(path, value, "boolean");
    if (member == "special") token.special = as<bool>(path, value, "boolean");
    if (member != "single_word") return;
    token.single_word = as<bool>(path, value, "boolean");
    if (token.single_word && single_word_ == SingleWord::kRefused)
      fail(path, "true is not supported: write false");
  }
  /// Reads eos_token = "</s>", or eos_token.content = "</s>" with its flags.
  void read_role(Path path, const JsonScalar& value) {
    if (std::holds_alternative<std::nullptr_t>(value)) return;
    if (path.size() == 1) return start(path[0]).text = as<std::string>(path, value, "text"), void();
    if (open_ == nullptr || open_->role != path[0]) start(path[0]);
    read_member(path, value, open_->token);
  }
  /// Reads a value of the list. Its objects follow one another, and each begins with its first
  /// member.
  void read_additional(Path path, const JsonScalar& value) {
    if (path.size() == 1) return start(path[0]).text = as<std::string>(path, value, "text"), void();
    const bool next = path.back() == "content" && open_ != nullptr && !open_->token.text.empty();
    if (open_ == nullptr || open_->role != path[0] || next) start(path[0]);
    read_member(path, value, open_->token);
  }

  const std::string& path_;
  TokenizerSettings& out_;
  const SingleWord single_word_;

 private:
  AddedToken& start(const std::string& role) {
    open_ = &out_.named.emplace_back(Named{.role = role, .token = {}});
    return open_->token;
  }

  Named* open_ = nullptr;
};

class ConfigReader : public Reader {
 public:
  using Reader::Reader;

  void value(Path path, const JsonScalar& value) override {
    const std::string& key = path[0];
    if (path.size() <= 2 && kRoles.contains(key)) return read_role(path, value);
    if (path.size() <= 2 && key == kAdditional) return read_additional(path, value);
    if (path.size() == 3 && key == "added_tokens_decoder") return read_added(path, value);
    if (path.size() != 1 || std::holds_alternative<std::nullptr_t>(value)) return;
    if (key == "add_prefix_space") out_.prefix_space = as<bool>(path, value, "boolean");
    if (key == "add_bos_token") out_.adds_bos = as<bool>(path, value, "boolean");
    if (key == "add_eos_token") out_.adds_eos = as<bool>(path, value, "boolean");
    if (key == "legacy") out_.legacy = as<bool>(path, value, "boolean");
    if (key == "tokenizer_class") out_.tokenizer_class = as<std::string>(path, value, "text");
    if (key == "do_lower_case") out_.lower_case = as<bool>(path, value, "boolean");
    if (key == "split_by_punct") out_.split_by_punct = as<bool>(path, value, "boolean");
    if (key == "extra_ids") {
      out_.extra_ids = as<int64_t>(path, value, "integer");
      if (out_.extra_ids < 0 || out_.extra_ids >= kMostIds)
        fail(path, text(out_.extra_ids, " is not 0 to ", kMostIds - 1));
    }
  }

 private:
  void read_added(Path path, const JsonScalar& value) {
    int64_t id = -1;
    const std::string& digits = path[1];
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (error != std::errc() || end != digits.data() + digits.size()) fail(path, "is no id");
    AddedToken& token = out_.added[id_of(path, id)];
    token.id = int32_t(id);
    read_member(path, value, token);
  }
};

/// A receiver of the roles that the first file has not named.
class MapReader : public Reader {
 public:
  MapReader(const std::string& path, TokenizerSettings& out, SingleWord single_word)
      : Reader(path, out, single_word) {
    for (const Named& named : out.named) known_.insert(named.role);
  }
  void value(Path path, const JsonScalar& value) override {
    if (path.size() > 2 || known_.contains(path[0])) return;
    if (kRoles.contains(path[0])) return read_role(path, value);
    if (path[0] == kAdditional) read_additional(path, value);
  }

 private:
  std::set<std::string> known_;
};

/// A receiver of added tokens: {"<mask>": 8008}.
class AddedReader : public Reader {
 public:
  using Reader::Reader;
  void value(Path path, const JsonScalar& value) override {
    const int32_t id = id_of(path, as<int64_t>(path, value, "id"));
    out_.added[id] = {.text = path[0], .id = id};
  }
};

class StartReader : public Reader {
 public:
  using Reader::Reader;
  void value(Path path, const JsonScalar& value) override {
    if (path.size() != 1 || path[0] != "decoder_start_token_id") return;
    if (std::holds_alternative<std::nullptr_t>(value)) return;
    out_.decoder_start = id_of(path, as<int64_t>(path, value, "id"));
  }
};

template <class Sink>
void read_file(const std::string& folder, const char* name, SingleWord single_word,
               TokenizerSettings& out) {
  const std::string path = folder + "/" + name;
  if (!is_there(path)) return;
  Sink sink(path, out, single_word);
  read_json(read_whole(path, kMostBytes), path, {.depth = kMostLevels}, sink);
}

/// Returns the texts of the tokens that have an id. The flags beside the id hold for them,
/// `special` too.
std::set<std::string> names_with_ids(const TokenizerSettings& settings) {
  std::set<std::string> names;
  for (const auto& [id, token] : settings.added) names.insert(token.text);
  return names;
}

}  // namespace

std::string TokenizerSettings::text_of(const std::string& role,
                                       const std::string& otherwise) const {
  const auto found = std::ranges::find(named, role, &Named::role);
  return found == named.end() ? otherwise : found->token.text;
}

uint32_t TokenizerSettings::fingerprint() const {
  std::string all = text(prefix_space, " ", legacy, " ", extra_ids);
  const auto add = [&](const std::string& key, const AddedToken& token) {
    all += text("\n", key, "\n", token.text, "\n", token.strips_left, token.strips_right);
  };
  for (const Named& entry : named) add(entry.role, entry.token);
  for (const auto& [id, token] : added) add(text(id), token);
  return crc32(reinterpret_cast<const uint8_t*>(all.data()), all.size());
}

TokenizerSettings read_tokenizer_settings(const std::string& folder, SingleWord single_word) {
  TokenizerSettings settings;
  read_file<ConfigReader>(folder, "tokenizer_config.json", single_word, settings);
  read_file<MapReader>(folder, "special_tokens_map.json", single_word, settings);
  if (settings.added.empty())
    read_file<AddedReader>(folder, "added_tokens.json", single_word, settings);
  read_file<StartReader>(folder, "config.json", single_word, settings);
  return settings;
}

std::vector<AddedToken> tokens_with_ids(
    const TokenizerSettings& settings,
    const std::function<std::optional<int32_t>(const std::string&)>& find) {
  std::vector<AddedToken> tokens;
  for (const auto& [id, token] : settings.added) tokens.push_back(token);
  const std::set<std::string> with_ids = names_with_ids(settings);
  for (const Named& named : settings.named) {
    if (with_ids.contains(named.token.text)) continue;
    const std::optional<int32_t> id = find(named.token.text);
    if (!id) continue;
    AddedToken token = named.token;
    token.id = *id;
    tokens.push_back(token);
  }
  return tokens;
}

SpecialIds ids_of_roles(const TokenizerSettings& settings,
                        const std::function<int32_t(const std::string&)>& id_of) {
  const auto of_role = [&](const char* role) { return id_of(settings.text_of(role)); };
  return {.pad = of_role("pad_token"),
          .bos = of_role("bos_token"),
          .eos = of_role("eos_token"),
          .unk = of_role("unk_token"),
          .cls = of_role("cls_token"),
          .sep = of_role("sep_token"),
          .mask = of_role("mask_token"),
          .decoder_start = settings.decoder_start};
}

}  // namespace zero
