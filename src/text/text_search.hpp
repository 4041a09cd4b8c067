#pragma once
/// A text during its generation, which takes scores and yields tokens. The owner of the model and
/// its caches asks for rows, passes their logits and moves the caches.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/text/row_decoder.hpp"
#include "zero/text/search_rules.hpp"

namespace zero::writing {

class TextSearch {
 public:
  virtual ~TextSearch() = default;

  /// Returns the running texts with their beginning: 1 or num_beams, all of one length. Meaningless
  /// after the search has ended.
  virtual std::span<const std::vector<int32_t>> rows() const = 0;

  /// Takes the logits after each of rows(), [rows, vocabulary], and appends a token to each. A text
  /// without an allowed token ends as it is, or throws Error(kUsage): see SearchRules::stuck.
  virtual void advance(std::span<const float> logits) = 0;

  /// Returns, for each row, the row before the last advance() whose text and caches it continues.
  virtual std::span<const int32_t> parents() const = 0;

  virtual bool ended() const = 0;

  /// Returns the text with its beginning and, if one ended it, its end token.
  virtual const std::vector<int32_t>& best() const = 0;
};

/// Returns a search; `source` and `beginning` are as in WrittenText. REQUIRES: `beginning` is not
/// empty and shorter than rules.scores.max_length. Sources: Graves 2012 (arXiv:1211.3711), section
/// 3.2, for beams; Wu et al. 2016 (arXiv:1609.08144), section 7, for the penalty; Hugging Face's
/// generate() for ends.
std::unique_ptr<TextSearch> search_text(const SearchRules& rules, std::span<const int32_t> source,
                                        std::span<const int32_t> beginning);

/// The search for one text, with the caches of a RowDecoder that its rows continue.
class CachedSearch {
 public:
  /// Owns the caches of `beams` texts and of one source: number `place` of each kind.
  CachedSearch(int32_t place, int32_t beams) : place_(place), beams_(beams) {}

  /// Takes a search that has just begun, the caller's number `index`. REQUIRES: `source` outlives
  /// it.
  void begin(int64_t index, std::unique_ptr<TextSearch> search, std::span<const int32_t> source);
  void free() { search_.reset(); }
  bool is_free() const { return search_ == nullptr; }
  int64_t index() const { return index_; }
  const TextSearch& search() const { return *search_; }
  std::span<const int32_t> source() const { return source_; }

  /// True if an encoder must still read the source, whose rows add_source() appends.
  bool wants_reading() const { return !is_free() && !is_read_; }
  void add_source(std::vector<TokenRow>& rows);

  /// True if scores after the beginning have arrived.
  bool has_begun() const { return begun_; }
  /// Adds the next tokens, which the caches lack: one a row, or at most `most` of a beginning.
  void add_rows(int64_t most, std::vector<TokenRow>& rows);
  /// Returns the number of rows, the last of those added, whose logits take() needs.
  int64_t wanted() const;
  /// Returns the cache copies to make before the added rows run.
  std::span<const kernels::CacheMove> moves() const { return moves_; }

  /// Advances the search by the logits, [wanted(), vocabulary].
  void take(std::span<const float> logits);

 private:
  kernels::ChunkRow at(int32_t text, size_t position) const;
  int32_t cache(int32_t slot) const { return place_ * beams_ + slot; }
  void place_rows();
  void fill_slot(int32_t slot, int32_t from, std::span<const int32_t> tokens);

  int32_t place_, beams_;
  int64_t index_ = -1;
  std::unique_ptr<TextSearch> search_;
  std::span<const int32_t> source_;
  bool is_read_ = false, begun_ = false;
  size_t fed_ = 0;                          ///< added tokens of the beginning
  std::vector<int32_t> slots_;              ///< [rows] slot of each row's cache
  std::vector<std::vector<int32_t>> held_;  ///< [slots] tokens in the cache
  std::vector<kernels::CacheMove> moves_;
};

}  // namespace zero::writing
