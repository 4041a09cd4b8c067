#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "zero/io/data/dataset.hpp"
#include "zero/launch/peers.hpp"
#include "zero/model/label_scores.hpp"

namespace zero::state {

/// The scores and labels of a validation set in the order of its file, which data.length_buckets
/// does not change. Every rank has memory for the whole set, at most 80 MiB. Only the constructor
/// allocates.
class SetScores {
 public:
  /// Maximum scores of a set.
  static constexpr int64_t kMost = int64_t(1) << 21;

  /// Reads the labels of all samples, and takes memory for `labels` scores of each. REQUIRES:
  /// `validation` outlives the scores. Throws Error(kInput), naming the key that shortens the set,
  /// for more than kMost scores.
  SetScores(const Dataset& validation, int64_t labels);

  /// Forgets the scores of an earlier evaluation.
  void clear();
  /// Takes the scores of samples from position `first` on, [samples, labels]. Leaves out those past
  /// the end of the set.
  void take(int64_t first, std::span<const float> scores);
  /// Gives every rank of `peers` the scores that any has taken, bit for bit. REQUIRES: one rank has
  /// taken each sample. Collective.
  void share(const launch::Peers& peers);

  /// Returns the scores and labels of all samples, in the order of the file.
  model::LabelScores view();

 private:
  const Dataset& validation_;
  int64_t labels_;
  std::vector<float> scores_;   ///< [samples, labels]
  std::vector<double> truths_;  ///< [samples]
  std::vector<double> room_;    ///< scratch of the metrics
  std::vector<int32_t> piece_;  ///< bits of scores on their way to other ranks
};

}  // namespace zero::state
