#pragma once
/// The first half of a sum over rows as a device does it: a thread has one column of one chunk of
/// rows, its sum in a register, and neighbouring threads read neighbouring columns. The order of
/// additions is that of the host's work items, which have many columns.

#include "kernels/support/column_tree.hpp"

namespace zero::kernels {

/// Adds rows in order: quad(r) the rows [r, r + 4) together, single(r) a row of what is left. The
/// loads of several quads are under way at once.
template <class Quad, class Single>
KOKKOS_INLINE_FUNCTION void for_quads(Interval rows, const Quad& quad, const Single& single) {
  constexpr int64_t kQuads = 4;
  int64_t r = rows.begin;
  for (; r + 4 * kQuads <= rows.end; r += 4 * kQuads) {
    for (int64_t q = 0; q < kQuads; ++q) quad(r + 4 * q);
  }
  for (; r + 4 <= rows.end; r += 4) quad(r);
  for (; r < rows.end; ++r) single(r);
}

/// Chunks of a sum of columns, four rows at a time.
template <class T>
struct ColumnChunks {
  RowChunks chunks;
  int64_t columns;
  const T* x;      ///< [rows, columns]
  float* partial;  ///< [chunks, columns], written

  KOKKOS_FUNCTION int64_t items() const { return chunks.count() * columns; }

  KOKKOS_FUNCTION void operator()(int64_t item) const {
    const int64_t chunk = item / columns, ld = columns;
    const T* const column = x + (item - chunk * columns);
    const auto at = [=](int64_t r) { return float(column[r * ld]); };
    float sum = 0.0f;
    for_quads(
        chunks[chunk], [&](int64_t r) { sum += (at(r) + at(r + 1)) + (at(r + 2) + at(r + 3)); },
        [&](int64_t r) { sum += at(r); });
    partial[item] = sum;
  }
};

}  // namespace zero::kernels
