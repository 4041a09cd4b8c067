#pragma once
/// The inner loops of products with few rows and of attention with a cache. They read memory once,
/// in the order in which it lies, with all sums in registers.

#include <cstdint>

namespace zero::kernels::vendor {

/// Columns whose sums fit the registers of AVX-512, for kPanelRows rows of factors at a time. With
/// fewer registers some columns come after the others, from the nearest cache.
inline constexpr int64_t kPanelColumns = 64;
inline constexpr int64_t kPanelRows = 4;

/// A panel of rows [count, ld], of which the first `columns`, at most kPanelColumns, are wanted.
template <class T>
struct Panel {
  const T* first;
  int64_t count;
  int64_t ld;
  int64_t columns;
  bool goes_on = false;  ///< true: the sums go on from their values, which lie in order
};

/// Writes sums[t, r, j] = the fp32 sum over i = 0, 1, ... of factors[t, i, r] panel[i, j], one
/// fused step each. The bits of a sum depend neither on kRows nor on the other sums. Rows of the
/// panel that fit the nearest cache are used for all tiles before the next ones.
///   factors [tiles, count, kRows], sums [tiles, kRows, kPanelColumns], anything after the columns;
///   kRows is 1 or kPanelRows
template <int64_t kRows, class T>
void multiply_panel(const Panel<T>& panel, int64_t tiles, const float* factors, float* sums);

/// Returns the fp32 sum of x[i] y[i] over [0, numel): kPanelColumns sums side by side, then a
/// balanced tree.
template <class T>
float dot(int64_t numel, const T* x, const T* y);

/// Writes sums[r, c] = dot(numel, x[r], y + c numel), bit for bit, for kDotRows rows and
/// kDotClasses classes. Uses each load of a row for every class, and of a class for every row. Also
/// prefetches a row's length at `ahead`, for a later call. REQUIRES: `numel` is a multiple of
/// kPanelColumns.
inline constexpr int64_t kDotRows = 4, kDotClasses = 2;
template <class T>
void dots(int64_t numel, const T* const* x, const T* y, const T* ahead, float* sums);

}  // namespace zero::kernels::vendor
