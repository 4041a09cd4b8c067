#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zero/base/shape.hpp"

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

}  // namespace zero
