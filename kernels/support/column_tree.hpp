#pragma once
/// Sums over rows whose tree depends on the number of rows alone: chunks of consecutive rows add in
/// order, each by one work item, and the chunks' partial sums add as a balanced tree.

#include "kernels/support/rows.hpp"

namespace zero::kernels {

/// Chunks of at least 32 rows, and at most 128 chunks: enough work items for any device, few enough
/// partial sums to stay in cache.
struct RowChunks {
  int64_t rows;

  KOKKOS_FUNCTION int64_t length() const {
    return Kokkos::max(int64_t(32), ceil_div(rows, int64_t(128)));
  }
  KOKKOS_FUNCTION int64_t count() const { return ceil_div(rows, length()); }
  KOKKOS_FUNCTION Interval operator[](int64_t chunk) const {
    return {chunk * length(), least(rows, (chunk + 1) * length())};
  }
};

/// A balanced tree over `chunks` partial sums, [chunks, stride], of which `columns` are added.
/// The partial sums are used up.
template <class T>
struct ColumnTree {
  static constexpr int64_t kColumns = 256;  ///< of one work item
  int64_t chunks, stride, columns;
  float* partial;
  T* out;  ///< [columns], written

  KOKKOS_FUNCTION int64_t groups() const { return ceil_div(columns, kColumns); }

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t group) const {
    const int64_t first = group * kColumns;
    const int64_t count = least(kColumns, columns - first);
    for (int64_t step = 1; step < chunks; step *= 2) {
      for (int64_t chunk = 0; chunk + step < chunks; chunk += 2 * step) {
        float* const to = partial + chunk * stride + first;
        const float* const from = to + step * stride;
        row.for_each(count, [=](int64_t j) { to[j] += from[j]; });
      }
    }
    const float* const sum = partial + first;
    T* const rounded = out + first;
    row.for_each(count, [=](int64_t j) { rounded[j] = T(sum[j]); });
  }
};

}  // namespace zero::kernels
