#pragma once
/// Texts whose tokens a model scores, for comparison with others: choices of an answer, and
/// documents. They become ids by the rules of lm-eval 0.4 (EleutherAI), so scores are equal.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zero/io/data/data_kind.hpp"
#include "zero/io/data/dataset.hpp"
#include "zero/io/text/tokenizer.hpp"

namespace zero {

/// Ids, of which the last `scored` follow those before them.
struct ScoredIds {
  std::vector<int32_t> ids;
  int64_t scored = 0;

  bool operator==(const ScoredIds&) const = default;
};

struct ScoringRules {
  const Tokenizer& tokenizer;
  SpecialNames names = SpecialNames::kTokens;
  int64_t length = 0;   ///< most ids that a model reads at once
  int32_t prefix = -1;  ///< in front of a document and in place of an empty context; -1: unknown
};

/// Returns the ids, by `rules`, of a text `context` and its `continuation`, of which those of the
/// continuation are scored. White space at the context's end moves to the continuation. The context
/// has the ids of its text alone. The continuation has those of the joined text behind as many,
/// even if tokens join over the border. Cuts what is too long from the left. `scored` exceeds
/// rules.length for a continuation that does not fit, and is 0 for one that adds no id. Throws
/// SettingsError if the prefix is needed and unknown.
ScoredIds scored_pair(const ScoringRules& rules, std::string_view context,
                      std::string_view continuation);

/// Returns the ids, by `rules`, of a document's text, cut into windows that score each id once. The
/// first begins with the prefix. The others reach back by one id, but the last fills its length.
/// None for a document without ids. Throws as scored_pair().
std::vector<ScoredIds> scored_windows(const ScoringRules& rules, std::string_view document);

/// A set of samples: ids of which the last are targets. Columns: see document_data().
class ScoredTexts : public Dataset {
 public:
  /// Makes a set with a sample of at most `length` tokens for each of `rows`. `is_packed` adds the
  /// column "first". REQUIRES: no row has more than `length` + 1 ids, and each scores fewer than it
  /// has.
  ScoredTexts(std::vector<ScoredIds> rows, int64_t length, bool is_packed);
  ~ScoredTexts() override;

  /// Returns the places in a sample whose targets are scored: the first, and the end.
  std::pair<int64_t, int64_t> scored(int64_t sample) const;
  LengthPair lengths(int64_t sample) const override;
  std::string form() const override;

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;
  std::vector<DataColumn> columns_for(const LengthPair& lengths) const override;

  const std::vector<ScoredIds> rows_;
  bool is_packed_;
};

/// A record of choices. Its samples are those of its choices, in their order.
struct ScoredChoices {
  int64_t first = 0;                                 ///< sample of the first choice
  int64_t answer = 0;                                ///< index of the right choice
  std::vector<int64_t> characters = {}, bytes = {};  ///< [choices] of each choice's text
};

/// Texts to score: records of choices, or documents.
struct ScoredSet {
  const char* key = nullptr;  ///< the key that names the file
  std::unique_ptr<ScoredTexts> samples;
  std::vector<ScoredChoices> choices = {};  ///< empty: documents
  int64_t words = 0, bytes = 0;             ///< of all documents
  uint64_t fingerprint = 0;                 ///< changes with any byte of the file
};

/// Returns the sets of the files that evaluation.choices and evaluation.documents in `evaluation`
/// name. Encodes all. Throws Error(kInput) naming the record that is damaged, does not fit
/// data.sequence_length or has nothing to score. Throws SettingsError if ids exceed the model's
/// vocabulary.
std::vector<ScoredSet> open_scored_sets(const DataOptions& options,
                                        const EvaluationConfig& evaluation);

}  // namespace zero
