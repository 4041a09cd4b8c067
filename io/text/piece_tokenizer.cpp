#include <algorithm>
#include <map>
#include <unordered_map>

#include "io/text/sentencepiece.hpp"
#include "io/text/tokenizer_json.hpp"
#include "io/text/tokenizers.hpp"
#include "zero/base/digests.hpp"
#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"
#include "zero/base/path.hpp"
#include "zero/io/files/input_file.hpp"
#include "zero/io/interop/json.hpp"

namespace zero {
namespace {

constexpr int64_t kMostBytes = int64_t(64) << 20;

constexpr const char* kSentinel = "<extra_id_";

std::string sentinel(int64_t k) { return text(kSentinel, k, ">"); }

/// Returns sentinels with ids after the pieces, the last one first. They take the blanks around
/// them along.
std::map<int32_t, AddedToken> sentinels_behind(int32_t pieces, int64_t count) {
  std::map<int32_t, AddedToken> tokens;
  for (int64_t k = 0; k < count; ++k) {
    const auto id = int32_t(pieces + count - 1 - k);
    tokens[id] = {.text = sentinel(k), .id = id, .strips_left = true, .strips_right = true};
  }
  return tokens;
}

/// Names the roles that no file names.
void name_roles(std::initializer_list<std::pair<const char*, const char*>> roles,
                TokenizerSettings& settings) {
  for (const auto& [role, name] : roles) {
    if (settings.text_of(role).empty())
      settings.named.push_back({.role = role, .token = {.text = name}});
  }
}

constexpr int64_t kMostIds = int64_t(1) << 20;

AddedToken token_of(JsonSection& section) {
  const JsonSection id = section.at("id");
  const int64_t number = id.integer();
  if (number < 0 || number >= kMostIds) id.fail(number, " is not 0 to ", kMostIds - 1);
  if (section.boolean_at("single_word", false))
    section.fail("single_word: true is not supported: write false");
  return {.text = section.at("content").string(),
          .id = int32_t(number),
          .strips_left = section.boolean_at("lstrip", false),
          .strips_right = section.boolean_at("rstrip", false),
          .special = section.boolean_at("special", false)};
}

/// Adds the tokens that stand in the folder's tokenizer.json alone, where Transformers 5 saves
/// them. Sentinels keep the rules of T5Tokenizer. Throws Error(kInput) for a token with another id
/// elsewhere.
void add_json_tokens(const std::string& folder, const SentencePieceModel& model,
                     TokenizerSettings& settings) {
  const std::string path = folder + "/tokenizer.json";
  if (folder.empty() || !is_there(path)) return;
  const TokenizerJsonFile file = parse_tokenizer_json(path);
  const JsonSection list = JsonSection(file.root, file.path, "").at("added_tokens");
  if (list.is_null()) return;
  for (JsonSection& section : list.elements()) {
    const AddedToken token = token_of(section);
    if (token.text.starts_with(kSentinel)) continue;
    std::optional<int32_t> known = model.find(token.text);
    for (const auto& [id, other] : settings.added)
      if (other.text == token.text) known = id;
    if (known.value_or(token.id) != token.id || (!known && token.id < model.size())) {
      section.fail("\"", shown(token.text), "\" has the id ", token.id, ", and in the other files ",
                   known ? text(*known) : "a piece has it",
                   "; take all files of the tokenizer from one place");
    }
    // Its id without any file; earlier fingerprints hold for it.
    const bool is_usual = token.id == model.size() && token.text == settings.text_of("mask_token");
    if (known || is_usual) continue;
    if (!settings.added.emplace(token.id, token).second)
      section.fail("the id ", token.id, " has another token in the other files");
  }
}

/// Refuses additional special tokens without an id, which would be ordinary text.
void require_ids(const TokenizerSettings& settings, const SentencePieceModel& model,
                 const std::string& folder) {
  for (const auto& [role, token] : settings.named) {
    const auto is_it = [&](const auto& entry) { return entry.second.text == token.text; };
    if (role != "additional_special_tokens" || model.find(token.text) ||
        std::ranges::any_of(settings.added, is_it)) {
      continue;
    }
    refuse(Exit::kInput, folder, ": no file says the id of \"", shown(token.text),
           "\", one of its ", "additional_special_tokens; write {\"", shown(token.text),
           "\": ID} to ", "added_tokens.json, with the id that the model has learnt");
  }
}

using AddDefaults = void (*)(const SentencePieceModel& model, TokenizerSettings& settings);

/// Adds the defaults of T5Tokenizer.
void add_sentinel_defaults(const SentencePieceModel& model, TokenizerSettings& settings) {
  std::map<int32_t, AddedToken> added = sentinels_behind(model.size(), settings.extra_ids);
  for (const auto& [id, token] : settings.added) added[id] = token;
  settings.added = std::move(added);
  name_roles({{"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}, settings);
}

/// Gives the mask of DebertaV2Tokenizer an id behind the pieces.
void add_mask(const SentencePieceModel& model, TokenizerSettings& settings) {
  const std::string mask = settings.text_of("mask_token");
  const auto is_mask = [&](const auto& entry) { return entry.second.text == mask; };
  if (model.find(mask) || std::ranges::any_of(settings.added, is_mask)) return;
  int32_t id = model.size();
  while (settings.added.contains(id)) ++id;
  settings.added[id] = {.text = mask, .id = id};
}

/// A SentencePiece unigram model with special tokens. It makes ids as T5Tokenizer with legacy =
/// true and DebertaV2Tokenizer of Transformers 4: each stretch between special tokens is a text of
/// its own.
class PieceTokenizer : public Tokenizer {
 public:
  PieceTokenizer(const std::string& path, const std::string& folder, TokenizerSettings settings,
                 AddDefaults add_defaults) {
    const std::string content = read_whole(path, kMostBytes);
    model_ = open_sentencepiece(content, path);
    const uint32_t crc = crc32(reinterpret_cast<const uint8_t*>(content.data()), content.size());
    add_json_tokens(folder, *model_, settings);
    fingerprint_ = uint64_t(crc) << 32 | settings.fingerprint();
    add_defaults(*model_, settings);
    require_ids(settings, *model_, folder);
    const auto find = [&](const std::string& piece) { return model_->find(piece); };
    added_ = AddedTokens(tokens_with_ids(settings, find));
    for (const AddedToken& token : added_.tokens()) {
      text_[token.id] = token.text;
      vocab_size_ = std::max(vocab_size_, int64_t(token.id) + 1);
    }
    vocab_size_ = std::max(vocab_size_, int64_t(model_->size()));
    find_special(settings);
  }

  int64_t vocab_size() const override { return vocab_size_; }
  SpecialIds special_ids() const override { return special_; }
  uint64_t fingerprint() const override { return fingerprint_; }

  std::vector<int32_t> encode(std::string_view text, SpecialNames names) const override {
    std::vector<int32_t> ids;
    for (const AddedTokens::Part& part : added_.split(text, names)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
      } else {
        model_->encode(part.text, ids);
      }
    }
    return ids;
  }

  /// Returns the texts between special tokens, with a blank on both sides of each token.
  std::string decode(std::span<const int32_t> ids, SpecialTokens special) const override {
    std::vector<int32_t> pieces;
    std::string out;
    const auto put = [&](const std::string& part) {
      if (!part.empty()) out += (out.empty() ? "" : " ") + part;
    };
    const auto put_pieces = [&] {
      put(std::string(without_blanks_behind(without_blanks_before(model_->decode(pieces)))));
      pieces.clear();
    };
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, vocab_size_);
      const auto added = text_.find(ids[i]);
      if (added == text_.end() && ids[i] < model_->size()) {
        pieces.push_back(ids[i]);
      } else if (special == SpecialTokens::kShown || !added_.is_special(ids[i])) {
        put_pieces();
        put(added == text_.end() ? "" : added->second);
      }
    }
    put_pieces();
    return out;
  }

 private:
  void find_special(const TokenizerSettings& settings) {
    std::unordered_map<std::string_view, int32_t, KeyedHash> ids;
    for (const AddedToken& token : added_.tokens()) ids.try_emplace(token.text, token.id);
    const auto id_of = [&](const std::string& name) {
      const auto found = ids.find(name);
      return found == ids.end() ? SpecialIds::kNone : found->second;
    };
    special_ = {.pad = id_of(settings.text_of("pad_token")),
                .bos = id_of(settings.text_of("bos_token")),
                .eos = id_of(settings.text_of("eos_token")),
                .unk = id_of(settings.text_of("unk_token")),
                .cls = id_of(settings.text_of("cls_token")),
                .sep = id_of(settings.text_of("sep_token")),
                .mask = id_of(settings.text_of("mask_token")),
                .decoder_start = settings.decoder_start,
                .first_sentinel = id_of(sentinel(0))};
    if (special_.first_sentinel == SpecialIds::kNone) return;
    while (id_of(sentinel(special_.sentinels)) == special_.first_sentinel - special_.sentinels)
      ++special_.sentinels;
  }

  std::unique_ptr<SentencePieceModel> model_;
  AddedTokens added_;
  std::map<int32_t, std::string> text_;  // text of each added token, by id
  int64_t vocab_size_ = 0;
  SpecialIds special_;
  uint64_t fingerprint_ = 0;
};

constexpr std::string_view kFramedClass = "DebertaV2Tokenizer";

bool is_framed(const std::string& path, const TokenizerSettings& settings) {
  return is_spm_file(path) || settings.tokenizer_class.starts_with(kFramedClass);
}

std::unique_ptr<Tokenizer> open_framed(const std::string& path, TokenizerSettings settings,
                                       const std::string& folder) {
  const std::string file = folder + "/tokenizer_config.json: ";
  const std::string& found = settings.tokenizer_class;
  if (!found.empty() && !found.starts_with(kFramedClass)) {
    refuse(Exit::kInput, file, "tokenizer_class: ", shown(found), " beside ", kSpmFile,
           " is not supported; that file is of ", kFramedClass, ", and a T5Tokenizer has a ",
           "spiece.model");
  }
  for (const auto& [key, value] : {std::pair("do_lower_case", settings.lower_case),
                                   {"split_by_punct", settings.split_by_punct}}) {
    if (!value) continue;
    refuse(Exit::kInput, file, key, ": true is not supported: write false, as the published ",
           "models have it");
  }
  settings.extra_ids = 0;  // has no sentinels
  name_roles({{"cls_token", "[CLS]"},
              {"sep_token", "[SEP]"},
              {"bos_token", "[CLS]"},
              {"eos_token", "[SEP]"},
              {"pad_token", "[PAD]"},
              {"unk_token", "[UNK]"},
              {"mask_token", "[MASK]"}},
             settings);
  return std::make_unique<PieceTokenizer>(path, folder, std::move(settings), add_mask);
}

}  // namespace

std::unique_ptr<Tokenizer> open_pieces(const std::string& path, const std::string& folder) {
  TokenizerSettings settings;
  if (!folder.empty()) settings = read_tokenizer_settings(folder);
  if (is_framed(path, settings)) return open_framed(path, std::move(settings), folder);
  if (!settings.legacy) {
    refuse(Exit::kInput, folder, "/tokenizer_config.json: legacy: false is not supported: write ",
           "true, as the published models have it");
  }
  return std::make_unique<PieceTokenizer>(path, folder, std::move(settings), add_sentinel_defaults);
}

}  // namespace zero
