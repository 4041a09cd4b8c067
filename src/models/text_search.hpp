#pragma once
/// One text while it is generated: scores of what may follow go in, tokens come out. The owner of
/// the model and its caches asks for rows, gives their logits and moves the caches.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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

}  // namespace zero::models
