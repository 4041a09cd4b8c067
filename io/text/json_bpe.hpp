#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "io/text/bpe_tokenizer.hpp"
#include "io/text/tokenizer_json.hpp"
#include "io/text/word_cache.hpp"
#include "zero/base/keyed_hash.hpp"

namespace zero {

/// The model of a tokenizer.json: it makes the ids of words. Immutable; a thread needs a Scratch.
class JsonBpe {
 public:
  /// The arrays of a thread. Views the model.
  struct Scratch {
    explicit Scratch(const JsonBpe& model) : merger(model.table_, model.merges_) {}
    WordMerger merger;
    WordCache cache;
    std::vector<int32_t> symbols, made;
  };

  /// Throws Error(kInput) naming `file` if a symbol may be unknown and its token is no entry.
  JsonBpe(TokenizerJson& json, const std::string& file);
  JsonBpe(const JsonBpe&) = delete;
  JsonBpe& operator=(const JsonBpe&) = delete;

  /// Returns the entries as text or, in a byte-level BPE, as bytes.
  const std::vector<std::string>& tokens() const { return tokens_; }
  /// Returns the id of an entry as it is written in the file, or kNone.
  int32_t find(std::string_view entry) const;

  /// Appends the ids of a word. Throws as WordMerger::merge().
  void add_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;

 private:
  using Ids = std::unordered_map<std::string_view, int32_t, KeyedHash>;
  void find_symbols();
  void find_joins();
  void require_known_symbols(const std::string& file) const;
  bool may_cut(std::string_view word, size_t at) const;
  void add_parts(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void add_part(std::string_view part, Scratch& scratch, std::vector<int32_t>& ids) const;
  void merge(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const;
  void read_symbols(std::string_view word, std::vector<int32_t>& out) const;
  int32_t symbol(std::string_view word, size_t at, size_t bytes) const;
  bool add_bytes(std::string_view bytes, std::vector<int32_t>& out) const;

  bool byte_level_, ignores_merges_, byte_fallback_, fuses_unknown_;
  std::string unknown_text_;
  std::vector<std::string> entries_;  // [ids] as in the file
  std::vector<std::string> tokens_;   // [ids]
  Ids ids_;                           // of entries_
  Ids words_;                         // of tokens_ that a word may be; if ignores_merges_
  std::vector<BpeMerge> merges_;
  MergeTable table_;
  std::array<int32_t, 256> bytes_{};  // ids of bytes, of <0xNN> beside a byte-level BPE
  std::unordered_map<uint32_t, int32_t> symbols_;  // ids of single characters, by code point
  int32_t unknown_ = SpecialIds::kNone;
  bool cuts_ = false;                    // no merge joins an unknown character with a mark
  std::unordered_set<uint32_t> joined_;  // characters that a merge joins with a mark behind them
};

}  // namespace zero
