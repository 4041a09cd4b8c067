#pragma once
/// Sums over rows: a chunk of rows in order, then a balanced tree over the chunks' sums. On a GPU
/// also rows of equal tokens. Several loads are under way before the first is used, because a
/// thread would otherwise wait for each.

#include "kernels/support/chunk_sums.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/row_chunks.hpp"
#include "kernels/support/rows.hpp"

namespace zero::kernels {

/// Terms of a tree that one thread of a device reads at once.
inline constexpr int kTreeTerms = 32;

/// Returns the sum of the terms term[c * stride], c < count, as a balanced tree. kTerms is a power
/// of two; missing terms are -0, which changes no bit of a sum.
template <int kTerms, class T>
KOKKOS_INLINE_FUNCTION float tree_of(const T* term, int64_t stride, int64_t count) {
  float sum[kTerms];
  for (int c = 0; c < kTerms; ++c) sum[c] = c < count ? float(term[c * stride]) : -0.0f;
  for (int step = 1; step < kTerms; step *= 2) {
    for (int c = 0; c < kTerms; c += 2 * step) sum[c] += sum[c + step];
  }
  return sum[0];
}

/// A balanced tree over `chunks` partial sums, [chunks, stride], of which `columns` are added.
/// Overwrites the partial sums.
template <class T>
struct ColumnTree {
  static constexpr int64_t kColumns = kHostSpace ? 256 : 32;  ///< columns of a work item
  int64_t chunks, stride, columns;
  float* partial;
  T* out;  ///< [columns], written

  KOKKOS_FUNCTION int64_t groups() const { return ceil_div(columns, kColumns); }

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t group) const {
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

  /// Adds along the tree of the host by threads. Each reads kTreeTerms chunks of a column, then one
  /// adds their few sums, because additions one by one would each wait for memory.
  KOKKOS_FUNCTION void operator()(const TeamRow& row, int64_t group) const {
    const int64_t first = group * kColumns, pitch = stride, terms = chunks;
    const int64_t count = least(kColumns, columns - first);
    const int64_t subtrees = ceil_div(terms, int64_t(kTreeTerms));
    float* const sum = partial + first;
    row.for_each(subtrees * kColumns, [=](int64_t i) {
      const int64_t j = i % kColumns, chunk = i / kColumns * kTreeTerms;
      if (j >= count) return;
      float* const column = sum + chunk * pitch + j;
      *column = tree_of<kTreeTerms>(column, pitch, terms - chunk);
    });
    row.barrier();
    T* const rounded = out + first;
    row.for_each(count, [=](int64_t j) {
      rounded[j] = T(tree_of<kTreeTerms>(sum + j, pitch * kTreeTerms, subtrees));
    });
  }
};

// The first half of a sum over rows on a device, for rows that are no whole runs (column_tiles.hpp
// has those). A thread has one column of one chunk of rows, its sum in a register, and neighbouring
// threads read neighbouring columns. The order of additions is the host's.

/// Calls quad(r) for each four rows [r, r + 4), then single(r) for each remaining row, in order.
/// Loads of four quads are under way at once.
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

/// The chunks of a sum of columns, four rows at a time.
template <class T>
struct ColumnChunks {
  StridedRows<T> of;
  float* partial;  ///< [chunks, columns], written

  KOKKOS_FUNCTION RowChunks chunks() const { return RowChunks{of.rows}; }
  KOKKOS_FUNCTION int64_t items() const { return chunks().count() * of.columns; }

  KOKKOS_FUNCTION void operator()(int64_t item) const {
    const int64_t chunk = item / of.columns, ld = of.ld;
    const T* const first = of.x + (item - chunk * of.columns);
    const auto row = [=](int64_t r) { return float(first[r * ld]); };
    float sum = 0.0f;
    for_quads(
        chunks()[chunk],
        [&](int64_t r) { sum += (row(r) + row(r + 1)) + (row(r + 2) + row(r + 3)); },
        [&](int64_t r) { sum += row(r); });
    partial[item] = sum;
  }
};

/// Returns the first of the rows with this token, or -1.
KOKKOS_INLINE_FUNCTION int64_t first_equal(const int32_t* tokens, int32_t token, Interval rows) {
  constexpr int kAtOnce = 16;
  int64_t from = rows.begin;
  for (; from + kAtOnce <= rows.end; from += kAtOnce) {
    int found = kAtOnce;
    for (int k = kAtOnce - 1; k >= 0; --k) found = tokens[from + k] == token ? k : found;
    if (found < kAtOnce) return from + found;
  }
  for (; from < rows.end; ++from) {
    if (tokens[from] == token) return from;
  }
  return -1;
}

/// Writes sum[j] = the fp32 sum of x[r * width + j] over rows r = first, next_of(first), ... until
/// -1, in that order, for j in [0, count), count at most kColumns.
template <int kColumns, class T, class Next>
KOKKOS_INLINE_FUNCTION void sum_rows_at_once(const T* x, int64_t width, int64_t first,
                                             const Next& next_of, int64_t count, float* sum) {
  constexpr int kRows = 8;
  for (int j = 0; j < kColumns; ++j) sum[j] = 0;
  for (int64_t r = first; r >= 0;) {
    float value[kRows][kColumns];
    for (int k = 0; k < kRows; ++k) {
      // Missing values are -0, which changes no bit of a sum.
      for (int j = 0; j < kColumns; ++j)
        value[k][j] = r >= 0 && j < count ? float(x[r * width + j]) : -0.0f;
      if (r >= 0) r = next_of(r);
    }
    for (int k = 0; k < kRows; ++k) {
      for (int j = 0; j < kColumns; ++j) sum[j] += value[k][j];
    }
  }
}

}  // namespace zero::kernels
