#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace zero::checkpoint {

/// A box of a tensor whose elements are neighbours in row-major order.
struct Box {
  std::vector<int64_t> start, count;  ///< an entry for each extent
  int64_t first = 0, numel = 0;       ///< of the elements of the slice
};

/// Elements [begin, begin + numel) of a tensor as boxes, in order: the end of a row, whole rows,
/// the beginning of a row. At most 2 d - 1 of them in d dimensions, three in a matrix.
std::vector<Box> boxes_of(std::span<const int64_t> shape, int64_t begin, int64_t numel);

}  // namespace zero::checkpoint
