#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/data/sample_order.hpp"

namespace zero {

/// The order of samples of several parts, each with a share. It is computed from (seed, position)
/// and never stored, so a resumed run needs only the count of consumed samples. The parts stand in
/// a row of choices between one and those behind it. A choice takes its own part for the n-th of
/// its samples where floor(n share + offset) grows. So after any count of samples each part is
/// within a few samples of its share (Bresenham 1965), and the count of a part's samples before a
/// position is known. Each part has a SampleOrder of its own.
class Mixture {
 public:
  struct Part {
    int64_t samples = 0;
    double weight = 0;  ///< share relative to the other parts'
  };
  struct Place {
    size_t part = 0;
    int64_t sample = 0;  ///< of the part
  };
  /// REQUIRES: samples and weights are above 0.
  Mixture(const std::vector<Part>& parts, uint64_t seed);

  Place at(int64_t position) const;

 private:
  /// A choice between a part and those behind it. Numbers are in units of 2^-32.
  struct Choice {
    uint64_t share = 0;
    uint64_t offset = 0;

    /// Returns how many of the first n samples are of the part.
    int64_t taken(int64_t n) const;
  };

  std::vector<Choice> choices_;  ///< [parts - 1]
  std::vector<SampleOrder> orders_;
};

}  // namespace zero
