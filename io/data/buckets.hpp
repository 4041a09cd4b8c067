#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "io/data/sample_order.hpp"
#include "zero/base/shape.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// Lengths are multiples of this, capped at the longest, because products are fast there.
inline constexpr int64_t kLengthUnit = 8;

/// A histogram of sample lengths on a grid of multiples of a step. It has at most kLevels on either
/// side, to bound the time of choosing. Samples of one text have a source of 0 tokens.
class LengthHistogram {
 public:
  static constexpr int64_t kLevels = 64;

  /// Makes an empty grid for samples of at most `longest`. The step is a multiple of `unit`, at
  /// which products are fast.
  LengthHistogram(const LengthPair& longest, int64_t unit);

  void add(const LengthPair& sample);
  int64_t samples() const { return samples_; }

  /// Returns the grid's rows. Place (i, j) has the pair of lengths at(i, j); the last is the least
  /// that covers all.
  int64_t sources() const { return sources_; }
  int64_t targets() const { return targets_; }
  LengthPair at(int64_t source, int64_t target) const;
  /// Returns the count of samples that each place's pair covers, in the order of places.
  std::vector<int64_t> covered() const;

 private:
  LengthPair longest_;
  int64_t source_step_, target_step_, sources_, targets_;
  int64_t samples_ = 0;
  std::vector<int64_t> counts_;
};

/// Returns at most `most` pairs of lengths to pad samples to, each to the first that covers it.
/// Each pair covers the one before it, and the last covers all samples. So the largest pair of
/// several samples covers them all. Chooses the pairs on the grid with the least padding, then the
/// fewest pairs, by dynamic programming over the last pair.
std::vector<LengthPair> choose_form_lengths(const LengthHistogram& histogram, int64_t most);

/// Returns the index of the first pair that covers a sample. REQUIRES: a pair covers it.
int64_t pair_of(std::span<const LengthPair> pairs, const LengthPair& sample);

/// An order of samples of several buckets, in which most micro-batches have one bucket. Each sample
/// comes once an epoch, in another order each epoch, and is found without those before it, as by
/// SampleOrder. A micro-batch is `micro` positions from a multiple of `micro` on.
///
/// In an epoch the samples of a bucket are permuted, then the buckets are joined and cut into
/// blocks of `micro`, which are permuted. So at most one block lies across each border between two
/// buckets. An epoch that begins or ends within a micro-batch fills its share from the first
/// bucket.
class BucketOrder {
 public:
  /// Makes the order. `buckets` has the bucket, below 256, of each sample. Without a seed, samples
  /// and blocks keep their order in every epoch.
  BucketOrder(std::span<const uint8_t> buckets, int64_t micro, std::optional<uint64_t> seed);

  /// Returns the sample after `consumed` others.
  int64_t sample(int64_t consumed) const;

 private:
  int64_t in_epoch(int64_t epoch, int64_t place) const;

  struct Bucket {
    int64_t first = 0, samples = 0;  // range in samples_
    std::optional<SampleOrder> order = {};
  };

  int64_t micro_;
  std::optional<uint64_t> seed_;
  std::vector<uint32_t> samples_;  // by bucket, then in the order of the source
  std::vector<Bucket> buckets_;
};

}  // namespace zero
