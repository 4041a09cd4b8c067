#pragma once
/// Sums of multiples of rows, the inner loop of products with few rows and of attention with a
/// cache.

#include <cmath>
#include <cstdint>

#include "zero/base/dtype.hpp"

namespace zero::kernels::vendor {

/// Rows that are added at a time: eight streams from memory, and a sum that is loaded and stored
/// once for all of them.
inline constexpr int64_t kDepth = 8;

/// Rows of a matrix [.., ld], of which some columns are wanted.
template <class T>
struct RowRange {
  const T* first;
  int64_t ld;
  int64_t columns;
};

template <int64_t kRows, class T>
inline void add_some(const RowRange<T>& rows, const float* factors, float* sums) {
  float factor[kRows];
  const T* row[kRows];
  for (int64_t i = 0; i < kRows; ++i) {
    factor[i] = factors[i];
    row[i] = rows.first + i * rows.ld;
  }
  const int64_t columns = rows.columns;
#pragma omp simd
  for (int64_t j = 0; j < columns; ++j) {
    float sum = sums[j];
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRows; ++i) sum = std::fma(factor[i], float(row[i][j]), sum);
    sums[j] = sum;
  }
}

/// sums[j] += factors[i] rows[i][j] for i = 0, 1, ... count - 1, one fused step each in this order.
template <class T>
inline void add_multiples(RowRange<T> rows, const float* factors, int64_t count, float* sums) {
  for (; count >= kDepth; count -= kDepth, factors += kDepth, rows.first += kDepth * rows.ld)
    add_some<kDepth>(rows, factors, sums);
  for (; count > 0; --count, ++factors, rows.first += rows.ld) add_some<1>(rows, factors, sums);
}

}  // namespace zero::kernels::vendor
