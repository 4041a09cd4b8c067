#include "io/text/bpe_tokenizer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "io/text/bpe_files.hpp"
#include "io/text/characters.hpp"
#include "io/text/tokenizers.hpp"
#include "zero/base/error.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {
namespace {

constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t",  "'re", "'ve",
                                                           "'m", "'ll", "'d"};

bool same_run(const Character& a, const Character& b) {
  return a.kind == b.kind && !a.broken && !b.broken;
}

size_t contraction(std::string_view rest) {
  if (rest[0] != '\'') return 0;
  for (const std::string_view word : kContractions) {
    if (rest.starts_with(word)) return word.size();
  }
  return 0;
}

size_t run_end(std::string_view text, size_t at, const Character& first) {
  while (at < text.size()) {
    const Character next = character(text, at);
    if (!same_run(next, first)) break;
    at += next.bytes;
  }
  return at;
}

/// Returns the end of a word of blanks. It leaves its last blank to the next word, if there is one.
size_t blanks_end(std::string_view text, size_t at) {
  const Character first = character(text, at);
  const size_t end = run_end(text, at, first);
  if (end == text.size()) return end;
  const size_t last = last_character(text, end);
  return last == at ? end : last;
}

constexpr uint32_t kNoPlace = UINT32_MAX;

uint64_t pair_of(int32_t left, int32_t right) { return uint64_t(left) << 32 | uint32_t(right); }

constexpr size_t kBytesOfAToken = 4;          // average in English
constexpr size_t kRememberedBytes = 32;       // longest kept word; longer ones seldom come again
constexpr size_t kRememberedWords = 1 << 16;  // kept words in a call

/// The ids of a text while it is encoded. A repeated word is copied from its first ids, so merging
/// costs little in a natural text.
class Encoding {
 public:
  Encoding(const BpeFiles& files, size_t bytes)
      : byte_ids_(files.byte_ids), merger_(files.table, files.merges) {
    ids_.reserve(bytes / kBytesOfAToken + 1);
  }

  /// Adds the words of a text. REQUIRES: the text stays in place until take().
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
    size_t first = 0, count = 0;  // range in ids_
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
  std::unordered_map<std::string_view, IdRange, KeyedHash> words_;
};

/// A map from the bytes of a token to its id; the first of equal tokens counts.
using TokenIds = std::unordered_map<std::string_view, int32_t, KeyedHash>;

TokenIds ids_of(const std::vector<std::string>& tokens) {
  TokenIds ids;
  ids.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) ids.try_emplace(tokens[id], int32_t(id));
  return ids;
}

/// Adds the added tokens beyond the vocabulary to it. Refuses an added token within it whose text
/// differs from the vocabulary's.
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

/// A byte-level BPE (Radford et al. 2019): word_end() cuts the text, WordMerger makes ids of each
/// word. With add_prefix_space, a stretch between special tokens that begins without a blank gets
/// one, so its first word is like any other.
class BpeTokenizer : public Tokenizer {
 public:
  /// Reads the files. Throws as read_bpe_files() and read_tokenizer_settings().
  explicit BpeTokenizer(const std::string& folder) : files_(read_bpe_files(folder)) {
    const TokenizerSettings settings = read_tokenizer_settings(folder);
    append_added(folder, settings, files_);
    const TokenIds ids = ids_of(files_.tokens);
    const auto find = [&](const std::string& token) -> std::optional<int32_t> {
      const auto found = ids.find(token);
      return found == ids.end() ? std::nullopt : std::optional(found->second);
    };
    added_ = AddedTokens(tokens_with_ids(settings, find));
    prefix_space_ = settings.prefix_space;
    if (prefix_space_ || !added_.tokens().empty()) files_.fingerprint ^= settings.fingerprint();
    special_ = ids_of_roles(settings, [&](const std::string& token) {
      // An unset role has no text; neither has a gap in the vocabulary.
      return token.empty() ? SpecialIds::kNone : find(token).value_or(SpecialIds::kNone);
    });
  }

  int64_t vocab_size() const override { return int64_t(files_.tokens.size()); }
  SpecialIds special_ids() const override { return special_; }

  std::vector<int32_t> encode(std::string_view text, SpecialNames names) const override {
    Encoding encoding(files_, text.size());
    if (!prefix_space_ && added_.tokens().empty()) {
      encoding.add_text(text);
      return encoding.take();
    }
    std::deque<std::string> prefixed;  // outlives the views that `encoding` keeps
    for (const AddedTokens::Part& part : added_.split(text, names)) {
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

size_t word_end(std::string_view text, size_t at) {
  if (const size_t bytes = contraction(text.substr(at))) return at + bytes;
  Character first = character(text, at);
  if (text[at] == ' ' && at + 1 < text.size()) {
    const Character next = character(text, at + 1);
    if (next.kind != CharClass::kBlank && !next.broken) {
      ++at;
      first = next;
    }
  }
  if (first.broken) return at + 1;
  if (first.kind == CharClass::kBlank) return blanks_end(text, at);
  return run_end(text, at + first.bytes, first);
}

MergeTable::MergeTable(size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {
  shift_ = 64 - std::countr_zero(slots_.size());
  key_ = KeyedHash()("merges");
}

/// Returns the slot of the pair, or the free slot for it.
size_t MergeTable::slot_of(uint64_t pair) const {
  const size_t mask = slots_.size() - 1;
  uint64_t sum = (pair ^ key_) * 0x9E3779B97F4A7C15u;
  sum = (sum ^ sum >> 32) * 0xD6E8FEB86659FD93u;
  auto at = size_t(sum >> shift_);
  while (slots_[at].rank != kNone && slots_[at].pair != pair) at = (at + 1) & mask;
  return at;
}

bool MergeTable::add(int32_t left, int32_t right, uint32_t rank) {
  const uint64_t pair = pair_of(left, right);
  Slot& slot = slots_[slot_of(pair)];
  if (slot.rank != kNone) return false;
  slot = {.pair = pair, .rank = rank};
  return true;
}

uint32_t MergeTable::rank(int32_t left, int32_t right) const {
  return slots_[slot_of(pair_of(left, right))].rank;
}

/// Looks up the pair that begins at `place`, and queues it if it can be merged.
void WordMerger::offer(uint32_t place) {
  Symbol& symbol = symbols_[place];
  symbol.rank = symbol.next == kNoPlace ? MergeTable::kNone
                                        : table_->rank(symbol.id, symbols_[symbol.next].id);
  if (symbol.rank == MergeTable::kNone) return;
  heap_.push_back(uint64_t(symbol.rank) << 32 | place);
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

/// Joins the symbol at `place` with the next one, whose own pair then no longer exists.
void WordMerger::join(uint32_t place) {
  Symbol& symbol = symbols_[place];
  Symbol& gone = symbols_[symbol.next];
  symbol.id = merges_[symbol.rank].result;
  symbol.next = gone.next;
  gone.rank = MergeTable::kNone;
  if (symbol.next != kNoPlace) symbols_[symbol.next].previous = place;
  offer(place);
  if (symbol.previous != kNoPlace) offer(symbol.previous);
}

void WordMerger::merge(std::span<const int32_t> symbols, std::vector<int32_t>& out) {
  if (symbols.size() >= kNoPlace) {
    refuse(Exit::kInput, "a word of ", symbols.size(),
           " bytes is too long to merge; put a blank or the end of a line into the text");
  }
  const auto count = uint32_t(symbols.size());
  symbols_.resize(count);
  heap_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    symbols_[i] = {.id = symbols[i],
                   .previous = i == 0 ? kNoPlace : i - 1,
                   .next = i + 1 == count ? kNoPlace : i + 1};
  }
  for (uint32_t i = 0; i < count; ++i) offer(i);
  while (!heap_.empty()) {
    const auto rank = uint32_t(heap_.front() >> 32), place = uint32_t(heap_.front());
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    if (symbols_[place].rank == rank) join(place);
  }
  for (uint32_t at = count > 0 ? 0 : kNoPlace; at != kNoPlace; at = symbols_[at].next)
    out.push_back(symbols_[at].id);
}

std::unique_ptr<Tokenizer> open_bpe(const std::string& folder) {
  return std::make_unique<BpeTokenizer>(folder);
}

}  // namespace zero
