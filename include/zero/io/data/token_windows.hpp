#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "zero/io/data/sample_order.hpp"
#include "zero/io/data/token_source.hpp"

namespace zero {

/// A range of a source, cut into samples: windows of sequence_length + 1 tokens that do not
/// overlap, each predicting its last sequence_length tokens. Views the source, which must outlive
/// it.
class TokenWindows {
 public:
  static constexpr int32_t kNotCounted = -1;  ///< a target that the loss leaves out

  struct Options {
    int64_t first_token = 0;
    int64_t tokens = 0;           ///< of the range
    int64_t sequence_length = 0;  ///< T
    int64_t max_samples = 0;      ///< the first n; 0 = all
    bool keep_tail = false;       ///< a shorter last window of 2 tokens or more is a sample too
    std::optional<uint64_t> shuffle_seed = {};  ///< none: in the order of the source, once
  };
  TokenWindows(const TokenSource& source, const Options& options);

  int64_t samples() const { return samples_; }
  int64_t sequence_length() const { return options_.sequence_length; }

  /// The sample that stands at a position, counted in the order of the source.
  int64_t sample_at(int64_t position) const;

  /// The sample at a position, which is the count of samples consumed before it by all ranks.
  /// Fills tokens [T] and targets [T] on the host; a missing token is 0 with target kNotCounted.
  /// Shuffled sets repeat for ever, one permutation an epoch; others are all missing after their
  /// end, so that ranks may read equally many. Allocates nothing; throws as TokenSource::read.
  void read(int64_t position, std::span<int32_t> tokens, std::span<int32_t> targets) const;

  /// How many targets count in `count` samples from `position` on: the divisor of a step's loss,
  /// which every rank computes for all ranks without reading data.
  int64_t counted(int64_t position, int64_t count) const;

 private:
  int64_t length_of(int64_t sample) const;

  const TokenSource* source_;
  Options options_;
  int64_t samples_ = 0;
  std::optional<SampleOrder> order_;
};

}  // namespace zero
