#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "zero/io/data/dataset.hpp"

namespace zero {

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
