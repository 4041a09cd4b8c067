#pragma once

#include <cstdint>

#include "io/data/pair_form.hpp"
#include "io/data/token_source.hpp"

namespace zero {

/// A source of uniform random ids, by Philox on (seed, position), to measure speed without data.
class SyntheticTokens : public TokenSource {
 public:
  SyntheticTokens(uint64_t seed, int64_t tokens, int64_t vocab_size);

  int64_t tokens() const override { return tokens_; }
  int64_t vocab_size() const override { return vocab_size_; }
  std::string format() const override { return "synthetic, uniform random ids"; }
  void read(int64_t first, std::span<int32_t> out) const override;
  uint64_t fingerprint() const override;

 private:
  uint64_t seed_;
  int64_t tokens_, vocab_size_;
};

/// Returns the sample count of such data: `most`, or 2^20 if `most` is 0.
inline int64_t synthetic_samples(int64_t most) { return most > 0 ? most : int64_t(1) << 20; }

/// A set of pairs of random ids with the longest lengths, to measure speed. Views the source of
/// ids, which must outlive it.
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
