#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "io/text/json_bpe.hpp"
#include "io/text/json_words.hpp"
#include "io/text/sentencepiece.hpp"
#include "io/text/tokenizers.hpp"

namespace zero {
namespace {

/// Returns the byte of a token <0xNN>, or -1.
int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    const char letter = char(c | 0x20);
    if (!digit && (letter < 'a' || letter > 'f')) return -1;
    byte = byte * 16 + (digit ? c - '0' : letter - 'a' + 10);
  }
  return byte;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size())
    out.append(text, at, found - at).append(to);
  text = out.append(text, at);
}

/// Returns the text of a token. `drops_marks` takes its marks away.
std::string token_text(const std::string& token, const DecodeRules& rules, bool drops_marks) {
  const int byte = rules.joins_bytes ? fallback_byte(token) : -1;
  if (byte >= 0) return {char(byte)};
  std::string text = token;
  if (rules.marks_are_blanks) replace_all(text, kBlankMark, drops_marks ? "" : " ");
  return text;
}

/// A BPE by the rules of a tokenizer.json, as the package `tokenizers` has them. Added tokens that
/// are not normalised are cut out of the text; those that are, out of what the normalizer makes of
/// the rest; the words of the pieces between become ids.
class JsonTokenizer : public Tokenizer {
 public:
  JsonTokenizer(TokenizerJson json, const std::string& folder)
      : rules_(json.rules), fingerprint_(json.fingerprint), bpe_(json, folder + "/tokenizer.json") {
    const TokenizerSettings settings = read_tokenizer_settings(folder, SingleWord::kRead);
    require_known(folder, settings, json.added);
    require_same_frame(folder, settings);
    add_named(settings, json.added);
    // The first of equal texts counts, and special ones come first, as in `tokenizers`.
    std::stable_partition(json.added.begin(), json.added.end(), std::mem_fn(&AddedToken::special));
    std::vector<AddedToken> raw, normalized;
    std::set<std::string> special;
    for (AddedToken& token : json.added) {
      ids_[token.text] = token.id;
      if (token.special) special.insert(token.text);
      if (token.normalized) token.text = normalize(token.text, rules_.normal);
      (token.normalized ? normalized : raw).push_back(token);
    }
    for (const AddedToken& token : json.added) place(token, special.contains(token.text));
    raw_ = AddedTokens(std::move(raw));
    normalized_ = AddedTokens(std::move(normalized));
    find_special(settings);
  }

  int64_t vocab_size() const override { return int64_t(texts_.size()); }
  SpecialIds special_ids() const override { return special_; }
  TextFrame text_frame() const override { return rules_.frame; }
  uint64_t fingerprint() const override { return fingerprint_; }

  std::vector<int32_t> encode(std::string_view text, SpecialNames names) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size() / 4 + 1);
    std::unique_ptr<JsonBpe::Scratch> scratch = take_scratch();
    for (const AddedTokens::Part& part : raw_.split(text, names)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
        continue;
      }
      const bool is_first = part.text.data() == text.data();
      add_piece(part.text, is_first, names, *scratch, ids);
    }
    give_back(std::move(scratch));
    return ids;
  }

  std::string decode(std::span<const int32_t> ids, SpecialTokens special) const override {
    std::string text;
    bool is_first = true;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, vocab_size());
      if (special == SpecialTokens::kSkipped && skipped_.contains(ids[i])) continue;
      const std::string& token = texts_[size_t(ids[i])];
      text += rules_.decode.byte_level
                  ? token
                  : token_text(token, rules_.decode, is_first && rules_.decode.drops_first_marks);
      is_first = false;
    }
    if (rules_.decode.strips_blank && text.starts_with(' ')) text.erase(0, 1);
    return text;
  }

 private:
  /// Remembers the text of an added token, which is skipped if a special token is written so. A
  /// normalizer may change the text, and then the token is shown, as in `tokenizers`.
  void place(const AddedToken& token, bool is_skipped) {
    if (texts_.empty()) texts_ = bpe_.tokens();
    if (size_t(token.id) >= texts_.size()) texts_.resize(size_t(token.id) + 1);
    texts_[size_t(token.id)] = rules_.byte_level ? bpe_bytes(token.text) : token.text;
    if (is_skipped) skipped_.insert(token.id);
  }

  /// Refuses added tokens of other files that tokenizer.json has not.
  static void require_known(const std::string& folder, const TokenizerSettings& settings,
                            const std::vector<AddedToken>& added) {
    std::map<std::string_view, int32_t> ids;
    for (const AddedToken& token : added) ids.emplace(token.text, token.id);
    for (const auto& [id, token] : settings.added) {
      const auto found = ids.find(token.text);
      if (found != ids.end() && found->second == id) continue;
      refuse(Exit::kInput, folder, "/tokenizer.json: has no added token ", shown_entry(token.text),
             " with id ", id,
             ", but tokenizer_config.json or added_tokens.json has; take all files ",
             "from one place");
    }
  }

  /// Refuses a template that contradicts tokenizer_config.json, because Transformers 4 and 5 differ
  /// then.
  void require_same_frame(const std::string& folder, const TokenizerSettings& settings) const {
    const auto check = [&](const std::optional<bool>& adds, const std::vector<int32_t>& ids,
                           const char* key) {
      if (!adds || *adds == !ids.empty()) return;
      refuse(Exit::kInput, folder, "/tokenizer_config.json: ", key, ": ", *adds ? "true" : "false",
             " contradicts the template of tokenizer.json, which adds ",
             ids.empty() ? "no such token" : "one", "; write ", *adds ? "false" : "true",
             ", or change the template");
    };
    check(settings.adds_bos, rules_.frame.before, "add_bos_token");
    check(settings.adds_eos, rules_.frame.after, "add_eos_token");
    const bool prefixes = std::ranges::any_of(
        rules_.cuts, [](const CutStep& step) { return step.kind == CutStep::Kind::kPrefixSpace; });
    if (rules_.byte_level && settings.prefix_space && !prefixes)
      refuse(Exit::kInput, folder, "/tokenizer_config.json: add_prefix_space: true contradicts ",
             "tokenizer.json; write false, or add_prefix_space = true in its ByteLevel");
  }

  /// Adds the tokens that a file names by role and that are entries. They are special.
  void add_named(const TokenizerSettings& settings, std::vector<AddedToken>& added) {
    std::set<std::string> known;
    for (const AddedToken& token : added) known.insert(token.text);
    for (const TokenizerSettings::Named& named : settings.named) {
      AddedToken token = named.token;
      token.id = bpe_.find(token.text);
      if (token.text.empty() || token.id == SpecialIds::kNone) continue;
      if (known.insert(token.text).second) added.push_back(token);
    }
  }

  void find_special(const TokenizerSettings& settings) {
    if (texts_.empty()) texts_ = bpe_.tokens();
    fingerprint_ ^= settings.fingerprint();
    special_ = ids_of_roles(settings, [&](const std::string& token) {
      const auto added = ids_.find(token);
      return added != ids_.end() ? added->second : bpe_.find(token);
    });
  }

  /// Adds the ids of a piece between added tokens that are not normalised.
  void add_piece(std::string_view piece, bool is_first, SpecialNames names,
                 JsonBpe::Scratch& scratch, std::vector<int32_t>& ids) const {
    std::string made;
    if (!rules_.normal.empty()) {
      made = normalize(piece, rules_.normal);
      piece = made;
    }
    if (normalized_.tokens().empty()) return add_words(piece, is_first, scratch, ids);
    for (const AddedTokens::Part& part : normalized_.split(piece, names)) {
      if (part.id >= 0) {
        ids.push_back(part.id);
      } else {
        add_words(part.text, is_first && part.text.data() == piece.data(), scratch, ids);
      }
    }
  }

  void add_words(std::string_view piece, bool is_first, JsonBpe::Scratch& scratch,
                 std::vector<int32_t>& ids) const {
    const auto add = [&](std::string_view word) { bpe_.add_word(word, scratch, ids); };
    cut_words(piece, is_first, rules_, add);
  }

  std::unique_ptr<JsonBpe::Scratch> take_scratch() const {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto scratch = std::move(free_.back());
        free_.pop_back();
        return scratch;
      }
    }
    return std::make_unique<JsonBpe::Scratch>(bpe_);
  }
  void give_back(std::unique_ptr<JsonBpe::Scratch> scratch) const {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  TokenizerRules rules_;
  uint64_t fingerprint_;
  JsonBpe bpe_;
  AddedTokens raw_, normalized_;
  std::vector<std::string> texts_;      // [ids] as decode() begins with
  std::map<std::string, int32_t> ids_;  // of added tokens
  std::set<int32_t> skipped_;
  SpecialIds special_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<JsonBpe::Scratch>>
      free_;  // of threads that have ended a text
};

}  // namespace

std::unique_ptr<Tokenizer> make_json_tokenizer(TokenizerJson json, const std::string& folder) {
  return std::make_unique<JsonTokenizer>(std::move(json), folder);
}

}  // namespace zero
