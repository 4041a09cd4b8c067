#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "io/data/bpe_files.hpp"
#include "io/data/bpe_words.hpp"
#include "io/data/tokenizers.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kBytesOfAToken = 4;          // about, in English
constexpr size_t kRememberedBytes = 32;       // of a word; longer ones seldom come again
constexpr size_t kRememberedWords = 1 << 16;  // of one call

/// The ids of one text. A word that was met before is copied from where its ids stand, so that
/// merging costs little in a natural text.
class Encoding {
 public:
  Encoding(const BpeFiles& files, size_t bytes)
      : byte_ids_(files.byte_ids), merger_(files.table, files.merges) {
    ids_.reserve(bytes / kBytesOfAToken + 1);
  }

  /// The words of a text that stays where it is until all ids are taken.
  void add_text(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = word_end(text, at);
      add(text.substr(at, end - at));
      at = end;
    }
  }
  void add_id(int32_t id) { ids_.push_back(id); }

  std::vector<int32_t> take() { return std::move(ids_); }

 private:
  struct IdRange {
    size_t first = 0, count = 0;  // in ids_
  };

  void add(std::string_view word) {
    if (word.size() > kRememberedBytes) return merge(word);
    const auto known = words_.find(word);
    if (known != words_.end()) return repeat(known->second);
    const size_t first = ids_.size();
    merge(word);
    if (words_.size() < kRememberedWords) words_[word] = {first, ids_.size() - first};
  }

  void repeat(const IdRange& range) {
    const size_t end = ids_.size();
    ids_.resize(end + range.count);
    std::copy_n(ids_.begin() + ptrdiff_t(range.first), range.count, ids_.begin() + ptrdiff_t(end));
  }

  void merge(std::string_view word) {
    symbols_.clear();
    for (const char byte : word) symbols_.push_back(byte_ids_[uint8_t(byte)]);
    merger_.merge(symbols_, ids_);
  }

  const std::array<int32_t, 256>& byte_ids_;
  WordMerger merger_;
  std::vector<int32_t> symbols_, ids_;
  std::unordered_map<std::string_view, IdRange> words_;
};

std::optional<int32_t> find_token(const BpeFiles& files, const std::string& token) {
  const auto found = std::find(files.tokens.begin(), files.tokens.end(), token);
  if (found == files.tokens.end()) return std::nullopt;
  return int32_t(found - files.tokens.begin());
}

/// Added tokens beyond the vocabulary get their places in it. One within it has the text that the
/// vocabulary says.
void append_added(const std::string& folder, const TokenizerSettings& settings, BpeFiles& files) {
  const auto entries = int32_t(files.tokens.size());
  for (const auto& [id, token] : settings.added) {
    if (id >= entries) {
      files.tokens.resize(size_t(id) + 1);
      files.tokens[size_t(id)] = token.text;
    } else if (files.tokens[size_t(id)] != token.text) {
      refuse(Exit::kInput, folder, ": the added token ", id, " is another entry of vocab.json; ",
             "take both files from one place");
    }
  }
}

/// The byte-level BPE of Radford et al. 2019: word_end() cuts the text, WordMerger makes ids of
/// each word. Where add_prefix_space says so, a blank is put in front of every stretch between
/// special tokens that begins with none, so that its first word is like any other.
class BpeTokenizer : public Tokenizer {
 public:
  /// Throws as read_bpe_files() and read_tokenizer_settings().
  explicit BpeTokenizer(const std::string& folder) : files_(read_bpe_files(folder)) {
    const TokenizerSettings settings = read_tokenizer_settings(folder);
    append_added(folder, settings, files_);
    const auto find = [&](const std::string& token) { return find_token(files_, token); };
    added_ = AddedTokens(tokens_with_ids(settings, find));
    prefix_space_ = settings.prefix_space;
    if (prefix_space_ || !added_.tokens().empty()) files_.fingerprint ^= settings.fingerprint();
    const auto id_of = [&](const char* role) {
      // A gap of the vocabulary has no text either.
      const std::string token = settings.text_of(role);
      return token.empty() ? SpecialIds::kNone : find(token).value_or(SpecialIds::kNone);
    };
    special_ = {.pad = id_of("pad_token"),
                .bos = id_of("bos_token"),
                .eos = id_of("eos_token"),
                .unk = id_of("unk_token"),
                .decoder_start = settings.decoder_start};
  }

  int64_t vocab_size() const override { return int64_t(files_.tokens.size()); }
  SpecialIds special_ids() const override { return special_; }

  std::vector<int32_t> encode(std::string_view text) const override {
    Encoding encoding(files_, text.size());
    if (!prefix_space_ && added_.tokens().empty()) {
      encoding.add_text(text);
      return encoding.take();
    }
    std::deque<std::string> prefixed;  // outlives what `encoding` remembers of them
    for (const AddedTokens::Part& part : added_.split(text)) {
      if (part.id >= 0) {
        encoding.add_id(part.id);
      } else if (prefix_space_ && part.text[0] != ' ') {
        encoding.add_text(prefixed.emplace_back(" " + std::string(part.text)));
      } else {
        encoding.add_text(part.text);
      }
    }
    return encoding.take();
  }

  std::string decode(std::span<const int32_t> ids, SpecialTokens special) const override {
    std::string bytes;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, vocab_size());
      if (special == SpecialTokens::kSkipped && added_.is_special(ids[i])) continue;
      bytes += files_.tokens[size_t(ids[i])];
    }
    return bytes;
  }

  uint64_t fingerprint() const override { return files_.fingerprint; }

 private:
  BpeFiles files_;
  AddedTokens added_;
  bool prefix_space_ = false;
  SpecialIds special_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_bpe(const std::string& folder) {
  return std::make_unique<BpeTokenizer>(folder);
}

}  // namespace zero
