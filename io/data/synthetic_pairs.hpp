#pragma once

#include <cstdint>

#include "io/data/pair_form.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// Pairs of random ids, all as long as they may be, for measuring speed. Views the source of ids,
/// which must outlive it.
class SyntheticPairs : public PairDataset {
 public:
  SyntheticPairs(const TokenSource& source, const PairForm& form, int64_t samples, uint64_t seed)
      : PairDataset(form, samples, seed), source_(source) {}
  LengthPair lengths(int64_t) const override { return {form_.source_length, form_.target_length}; }

 private:
  void read_sample(int64_t sample, ColumnSpans out) const override {
    const PairColumns columns(form_, out);
    const int64_t first = sample * (form_.source_length + form_.target_length);
    source_.read(first, columns.source());
    source_.read(first + form_.source_length, columns.targets());
    columns.finish(form_.source_length, form_.target_length);
  }
  int64_t counted_in(int64_t) const override { return form_.target_length; }

  const TokenSource& source_;
};

}  // namespace zero
