#pragma once
/// How a GPU finds rows of equal tokens and adds rows that are far apart: several loads are under
/// way before the first is looked at, as a thread would otherwise wait for each.

#include "kernels/support/elements.hpp"

namespace zero::kernels {

/// The first row after r with its token, -1: none.
KOKKOS_INLINE_FUNCTION int64_t next_equal(const int32_t* tokens, int64_t r, int64_t rows) {
  constexpr int kAtOnce = 16;
  const int32_t token = tokens[r];
  int64_t from = r + 1;
  for (; from + kAtOnce <= rows; from += kAtOnce) {
    int found = kAtOnce;
    for (int k = kAtOnce - 1; k >= 0; --k) found = tokens[from + k] == token ? k : found;
    if (found < kAtOnce) return from + found;
  }
  for (; from < rows; ++from) {
    if (tokens[from] == token) return from;
  }
  return -1;
}

/// sum[j] = the fp32 sum of x[r * width + j] over rows r = first, next_of(first), ... until -1, in
/// that order, for j in [0, count), count at most kColumns.
template <int kColumns, class T, class Next>
KOKKOS_INLINE_FUNCTION void sum_rows_at_once(const T* x, int64_t width, int64_t first,
                                             const Next& next_of, int64_t count, float* sum) {
  constexpr int kRows = 8;
  for (int j = 0; j < kColumns; ++j) sum[j] = 0;
  for (int64_t r = first; r >= 0;) {
    float value[kRows][kColumns];
    for (int k = 0; k < kRows; ++k) {
      // What is not there is -0, which as a summand changes no bit.
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
