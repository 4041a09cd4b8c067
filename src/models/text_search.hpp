#pragma once
/// One text while it is generated: scores of what may follow go in, tokens come out. The owner of
/// the model and its caches asks for rows, gives their logits and moves the caches.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/models/row_decoder.hpp"
#include "zero/models/score_rules.hpp"

namespace zero::models {

class TextSearch {
 public:
  virtual ~TextSearch() = default;

  /// Texts that go on, with their beginning; all of one length, 1 or num_beams of them. They are of
  /// no use once the search has ended.
  virtual std::span<const std::vector<int32_t>> rows() const = 0;

  /// Takes the logits after each of rows(), [rows, vocabulary], and appends a token to each.
  /// Where the rules leave a text no token it ends as it is, or throws Error(kUsage): see
  /// SearchRules::stuck.
  virtual void advance(std::span<const float> logits) = 0;

  /// The row before the last advance() that each row goes on from: whose caches it needs.
  virtual std::span<const int32_t> parents() const = 0;

  virtual bool ended() const = 0;

  /// The text, with its beginning and, where one ended it, its end token.
  virtual const std::vector<int32_t>& best() const = 0;
};

/// `source` and `beginning` as WrittenText has them; `beginning` is not empty, and shorter than
/// rules.scores.max_length. Sources: Graves 2012 (arXiv:1211.3711), section 3.2, for beams; Wu et
/// al. 2016 (arXiv:1609.08144), section 7, for the penalty; ends as Hugging Face's generate() has
/// them.
std::unique_ptr<TextSearch> search_text(const SearchRules& rules, std::span<const int32_t> source,
                                        std::span<const int32_t> beginning);

/// The search for one text, and the caches of a RowDecoder that its rows go on from.
class CachedSearch {
 public:
  /// The caches of `beams` texts are its own, and that of one source: the number `place` of each
  /// kind.
  CachedSearch(int32_t place, int32_t beams) : place_(place), beams_(beams) {}

  /// Takes on a search that has just begun, the number `index` of its caller. `source` outlives it.
  void begin(int64_t index, std::unique_ptr<TextSearch> search, std::span<const int32_t> source);
  void free() { search_.reset(); }
  bool is_free() const { return search_ == nullptr; }
  int64_t index() const { return index_; }
  const TextSearch& search() const { return *search_; }
  std::span<const int32_t> source() const { return source_; }

  /// True if an encoder has still to read the source, whose rows these are.
  bool wants_reading() const { return !is_free() && !is_read_; }
  void add_source(std::vector<TokenRow>& rows);

  /// True if scores after the beginning have come.
  bool has_begun() const { return begun_; }
  /// The next tokens, that their caches lack: one of each row or, of a beginning, `most`.
  void add_rows(int64_t most, std::vector<TokenRow>& rows);
  /// Returns how many of the rows added last have logits that take() wants; they stand at the end.
  int64_t wanted() const;
  /// Copies that come before those rows.
  std::span<const kernels::CacheMove> moves() const { return moves_; }

  /// The logits, [wanted(), vocabulary], which advance the search.
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
  size_t fed_ = 0;                          ///< tokens of the beginning that have been added
  std::vector<int32_t> slots_;              ///< [rows] of the search: whose cache is its own
  std::vector<std::vector<int32_t>> held_;  ///< [slots] tokens in the cache
  std::vector<kernels::CacheMove> moves_;
};

}  // namespace zero::models
