#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zero/base/shape.hpp"
#include "zero/io/data/dataset.hpp"

namespace zero {

/// Lengths are multiples of this where that is no longer than samples may be: products are fast
/// there.
inline constexpr int64_t kLengthUnit = 8;

/// How many samples have lengths up to each place of a grid: multiples of a step, at most kLevels
/// on either side, so that choosing takes a bounded time.
class LengthHistogram {
 public:
  static constexpr int64_t kLevels = 64;

  /// For samples of at most `longest`. The step is a multiple of `unit`, at which products are
  /// fast.
  LengthHistogram(const LengthPair& longest, int64_t unit);

  void add(const LengthPair& sample);
  int64_t samples() const { return samples_; }

  /// The grid: place (i, j) is the pair of lengths at(i, j), the last the least that covers all.
  int64_t sources() const { return sources_; }
  int64_t targets() const { return targets_; }
  LengthPair at(int64_t source, int64_t target) const;
  /// How many samples the pair at a place covers, of all places in their order.
  std::vector<int64_t> covered() const;

 private:
  LengthPair longest_;
  int64_t source_step_, target_step_, sources_, targets_;
  int64_t samples_ = 0;
  std::vector<int64_t> counts_;
};

/// At most `most` pairs of lengths, each covering the one before it, the last all samples, that
/// samples are padded to: each to the first that covers it. As a pair covers those before it, the
/// largest pair of some samples covers them all. It chooses the pairs on the grid with the least
/// padding, and among equals the fewest pairs. Dynamic programming over the last pair.
std::vector<LengthPair> choose_length_pairs(const LengthHistogram& histogram, int64_t most);

/// The first of these pairs that covers a sample. Requires that one does.
int64_t pair_of(std::span<const LengthPair> pairs, const LengthPair& sample);

/// The order in which samples of several buckets are visited, so that the samples of a micro-batch
/// are mostly of one: each once an epoch, in each epoch another order, and each found without those
/// before it, as by SampleOrder. A micro-batch is `micro` positions from a multiple of micro on.
///
/// In an epoch the samples of a bucket are permuted, the buckets are joined, and what comes out is
/// cut in blocks of `micro`, which are permuted. So at most one block lies across each border
/// between two buckets. An epoch that begins or ends within a micro-batch fills its share of that
/// one from the first bucket.
class BucketOrder {
 public:
  /// `buckets`: that of each sample, below 256. Without a seed samples keep their order within a
  /// bucket and the blocks theirs, in every epoch alike.
  BucketOrder(std::span<const uint8_t> buckets, int64_t micro, std::optional<uint64_t> seed);

  /// The sample that comes after `consumed` others.
  int64_t sample(int64_t consumed) const;

 private:
  int64_t in_epoch(int64_t epoch, int64_t place) const;

  struct Bucket {
    int64_t first = 0, samples = 0;  // in samples_
    std::optional<SampleOrder> order = {};
  };

  int64_t micro_;
  std::optional<uint64_t> seed_;
  std::vector<uint32_t> samples_;  // by bucket, in each in the order of the source
  std::vector<Bucket> buckets_;
};

}  // namespace zero
