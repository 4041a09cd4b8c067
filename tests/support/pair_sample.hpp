#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "zero/io/data/dataset.hpp"

namespace zero::testing_support {

/// A sample of two texts as its dataset fills it.
struct PairSample {
  std::vector<int32_t> source, previous, next;
  int32_t count = 77;
};

inline PairSample sample_of(const Dataset& data, int64_t position) {
  const auto ids = [&](size_t column) {
    return std::vector<int32_t>(size_t(data.columns()[column].numel), 77);
  };
  PairSample sample{ids(0), ids(2), ids(3)};
  const std::array places = {std::as_writable_bytes(std::span(sample.source)),
                             std::as_writable_bytes(std::span(&sample.count, 1)),
                             std::as_writable_bytes(std::span(sample.previous)),
                             std::as_writable_bytes(std::span(sample.next))};
  data.read(position, places);
  return sample;
}

}  // namespace zero::testing_support
