#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/data/pair_form.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// The spans that a model must restore: of mean_span tokens on average, together the share
/// `density` of a text's tokens.
struct SpanNoise {
  double density = 0.15;
  double mean_span = 3;
  int32_t first_sentinel = 0;  ///< id for the first span; the next has the id below
  uint64_t seed = 0;
};

/// The token counts of a corrupted window.
struct SpanCounts {
  int64_t kept = 0, noise = 0, spans = 0;

  int64_t source() const { return kept + spans + 1; }    ///< with a sentinel a span, and the end
  int64_t targets() const { return noise + spans + 2; }  ///< with one sentinel more
};
/// Returns the counts for `tokens`. Keeps at least one token and removes at least one. REQUIRES:
/// tokens >= 2.
SpanCounts span_counts(int64_t tokens, const SpanNoise& noise);

/// Returns the most tokens in a row that fit a sample of this form; 0 if none fit.
int64_t longest_window(const PairForm& form, const SpanNoise& noise);

/// A random cut of `items` into `runs` runs of one or more, each cut equally likely. It draws by
/// Philox at (place, stream).
class RandomRuns {
 public:
  RandomRuns(int64_t items, int64_t runs, uint64_t seed, int64_t place, uint32_t stream)
      : borders_(items - 1),
        cuts_(runs - 1),
        seed_(seed),
        place_(uint64_t(place)),
        stream_(stream) {}

  /// Returns the length of the next run. REQUIRES: at most `runs` calls.
  int64_t next();

 private:
  uint32_t draw();

  int64_t borders_, cuts_;  // borders and cuts left
  uint64_t seed_, place_;
  uint32_t stream_, draws_ = 0;
};

/// A set of samples from a range of a text, in windows of longest_window() tokens that do not
/// overlap. Sentinels replace spans of each window. The source is the rest, with a sentinel for
/// each span. The targets are each sentinel with its span, and one more sentinel. Both end with the
/// end's id. The choice of spans depends only on the seed and the window's place in the text.
/// Columns: PairForm. Views the text, which must outlive it.
/// Source: Raffel et al. 2020, "Exploring the limits of transfer learning with a unified
/// text-to-text transformer", sections 3.1.4 and 3.3.4.
class CorruptedSpans : public PairDataset {
 public:
  struct Options {
    PairForm form = {};
    SpanNoise noise = {};
    int64_t first_token = 0;
    int64_t tokens = 0;       ///< tokens of the range
    int64_t max_samples = 0;  ///< first n samples; 0 = all
    bool keep_tail = false;   ///< also take a shorter last window of 2 tokens or more
    std::optional<uint64_t> shuffle_seed = {};
  };
  CorruptedSpans(const TokenSource& source, const Options& options);

  std::string form() const override;
  LengthPair lengths(int64_t sample) const override;

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override;
  int64_t counted_in(int64_t sample) const override;
  int64_t length_of(int64_t sample) const;

  const TokenSource& source_;
  Options options_;
  int64_t window_;
};

}  // namespace zero
