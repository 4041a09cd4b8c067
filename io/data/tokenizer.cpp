#include "zero/io/data/tokenizer.hpp"

#include <algorithm>
#include <unordered_map>

#include "io/data/bpe_files.hpp"
#include "io/data/bpe_words.hpp"
#include "zero/base/error.hpp"

namespace zero {
namespace {

constexpr size_t kBytesOfAToken = 4;          // about, in English
constexpr size_t kRememberedBytes = 32;       // of a word; longer ones seldom come again
constexpr size_t kRememberedWords = 1 << 16;  // of one call

/// Throws Error(kInput) unless ids[i] is an id of a tokenizer of `vocab_size`.
void require_token(std::span<const int32_t> ids, size_t i, int64_t vocab_size) {
  if (ids[i] >= 0 && ids[i] < vocab_size) return;
  refuse(Exit::kInput, "token ", ids[i], " at place ", i, ": the tokenizer has ", vocab_size,
         "; name the one that the tokens were made with");
}

class ByteTokenizer : public Tokenizer {
 public:
  static constexpr int32_t kBytes = 256;

  int64_t vocab_size() const override { return kBytes; }

  std::vector<int32_t> encode(std::string_view text) const override {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return {bytes.begin(), bytes.end()};
  }

  std::string decode(std::span<const int32_t> ids) const override {
    std::string bytes;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, kBytes);
      bytes += char(ids[i]);
    }
    return bytes;
  }

  uint64_t fingerprint() const override { return kBytes; }
};

/// The ids of one text. A word that was met before is copied from where its ids stand, so that
/// merging costs little in a natural text.
class Encoding {
 public:
  Encoding(const BpeFiles& files, size_t bytes)
      : byte_ids_(files.byte_ids), merger_(files.table, files.merges) {
    ids_.reserve(bytes / kBytesOfAToken + 1);
  }

  void add(std::string_view word) {
    if (word.size() > kRememberedBytes) return merge(word);
    const auto known = words_.find(word);
    if (known != words_.end()) return repeat(known->second);
    const size_t first = ids_.size();
    merge(word);
    if (words_.size() < kRememberedWords) words_[word] = {first, ids_.size() - first};
  }

  std::vector<int32_t> take() { return std::move(ids_); }

 private:
  struct IdRange {
    size_t first = 0, count = 0;  // in ids_
  };

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

/// The byte-level BPE of Radford et al. 2019: word_end() cuts the text, WordMerger makes ids of
/// each word.
class BpeTokenizer : public Tokenizer {
 public:
  /// Throws as read_bpe_files().
  explicit BpeTokenizer(const std::string& folder) : files_(read_bpe_files(folder)) {}

  int64_t vocab_size() const override { return int64_t(files_.tokens.size()); }
  std::vector<int32_t> encode(std::string_view text) const override {
    Encoding encoding(files_, text.size());
    for (size_t at = 0; at < text.size();) {
      const size_t end = word_end(text, at);
      encoding.add(text.substr(at, end - at));
      at = end;
    }
    return encoding.take();
  }
  std::string decode(std::span<const int32_t> ids) const override {
    std::string bytes;
    for (size_t i = 0; i < ids.size(); ++i) {
      require_token(ids, i, vocab_size());
      bytes += files_.tokens[size_t(ids[i])];
    }
    return bytes;
  }
  uint64_t fingerprint() const override { return files_.fingerprint; }

 private:
  BpeFiles files_;
};

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  if (name == "bytes") return std::make_unique<ByteTokenizer>();
  return std::make_unique<BpeTokenizer>(name);
}

}  // namespace zero
