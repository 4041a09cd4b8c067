#include "io/data/bpe.hpp"

#include <algorithm>
#include <unordered_map>

#include "io/data/bpe_words.hpp"
#include "io/data/require_token.hpp"

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
  struct Place {
    size_t first = 0, count = 0;  // in ids_
  };

  void repeat(const Place& place) {
    const size_t end = ids_.size();
    ids_.resize(end + place.count);
    std::copy_n(ids_.begin() + ptrdiff_t(place.first), place.count, ids_.begin() + ptrdiff_t(end));
  }

  void merge(std::string_view word) {
    symbols_.clear();
    for (const char byte : word) symbols_.push_back(byte_ids_[uint8_t(byte)]);
    merger_.merge(symbols_, ids_);
  }

  const std::array<int32_t, 256>& byte_ids_;
  WordMerger merger_;
  std::vector<int32_t> symbols_, ids_;
  std::unordered_map<std::string_view, Place> words_;
};

}  // namespace

std::vector<int32_t> BpeTokenizer::encode(std::string_view text) const {
  Encoding encoding(files_, text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = word_end(text, at);
    encoding.add(text.substr(at, end - at));
    at = end;
  }
  return encoding.take();
}

std::string BpeTokenizer::decode(std::span<const int32_t> ids) const {
  std::string bytes;
  for (size_t i = 0; i < ids.size(); ++i) {
    require_token(ids, i, vocab_size());
    bytes += files_.tokens[size_t(ids[i])];
  }
  return bytes;
}

}  // namespace zero
