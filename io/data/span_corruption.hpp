#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/data/pair_form.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// Which tokens of a text a model has to find again: spans of them, of mean_span tokens on average,
/// which together are the share `density`.
struct SpanNoise {
  double density = 0.15;
  double mean_span = 3;
  int32_t first_sentinel = 0;  ///< stands for the first span; the next one has the id below
  uint64_t seed = 0;
};

/// What becomes of some tokens in a row.
struct SpanCounts {
  int64_t kept = 0, noise = 0, spans = 0;

  int64_t source() const { return kept + spans + 1; }    ///< with a sentinel a span, and the end
  int64_t targets() const { return noise + spans + 2; }  ///< with one sentinel more
};
/// `tokens` are 2 or more: at least one of them is kept and one is not.
SpanCounts span_counts(int64_t tokens, const SpanNoise& noise);

/// The most tokens in a row that fill a sample of this form; 0 if none fit.
int64_t longest_window(const PairForm& form, const SpanNoise& noise);

/// Cuts `items` at random into `runs` runs of one or more, each such cut as likely as any other.
/// Its draws are those of Philox at (place, stream).
class RandomRuns {
 public:
  RandomRuns(int64_t items, int64_t runs, uint64_t seed, int64_t place, uint32_t stream)
      : borders_(items - 1),
        cuts_(runs - 1),
        seed_(seed),
        place_(uint64_t(place)),
        stream_(stream) {}

  /// The length of the next run, one of `runs`.
  int64_t next();

 private:
  uint32_t draw();

  int64_t borders_, cuts_;  // that are left
  uint64_t seed_, place_;
  uint32_t stream_, draws_ = 0;
};

/// A range of a text, cut into windows of longest_window() tokens that do not overlap, in each of
/// which spans give way to sentinels. The source is what is left, with a sentinel for each span;
/// the targets are each sentinel with its span after it, and one more sentinel; both end with the
/// end's id. Which spans depends on the seed and the window's place in the text alone. Columns are
/// those of PairForm. Views the text, which must outlive it.
/// Source: Raffel et al. 2020, "Exploring the limits of transfer learning with a unified
/// text-to-text transformer", sections 3.1.4 and 3.3.4.
class CorruptedSpans : public PairDataset {
 public:
  struct Options {
    PairForm form = {};
    SpanNoise noise = {};
    int64_t first_token = 0;
    int64_t tokens = 0;       ///< of the range
    int64_t max_samples = 0;  ///< the first n; 0 = all
    bool keep_tail = false;   ///< a shorter last window of 2 tokens or more is a sample too
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
