#pragma once
/// Sums over rows whose tree depends on the number of rows alone. Chunks of consecutive rows add in
/// order, and the chunks' partial sums add as a balanced tree.

#include <cstdint>

#include "zero/base/align.hpp"
#include "zero/base/portable.hpp"

namespace zero::kernels {

/// Returns the lesser value. Takes values, because device code cannot take the address of a host
/// constant as std::min does.
ZERO_HOST_DEVICE constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

struct Interval {
  int64_t begin;
  int64_t end;
};

/// A division into chunks of at least 32 rows, at most 128 of them: enough work items for any
/// device, and few enough partial sums for the cache.
struct RowChunks {
  int64_t rows;

  ZERO_HOST_DEVICE int64_t length() const {
    const int64_t even = ceil_div(rows, int64_t(128));
    return even < 32 ? 32 : even;
  }
  ZERO_HOST_DEVICE int64_t count() const { return ceil_div(rows, length()); }
  ZERO_HOST_DEVICE Interval operator[](int64_t chunk) const {
    return {chunk * length(), least(rows, (chunk + 1) * length())};
  }
};

/// A division into `count` chunks, at most as many as rows, whose lengths differ by at most one.
struct EvenChunks {
  int64_t rows;
  int64_t count;

  ZERO_HOST_DEVICE Interval operator[](int64_t chunk) const {
    return {chunk * rows / count, (chunk + 1) * rows / count};
  }
};

}  // namespace zero::kernels
