#pragma once
/// Layer norm and RMS norm as a GPU computes them where a warp's registers hold rows: each is read
/// once, and several are under way. Templates over a thread of a block, so that the host runs them
/// in tests.

#include <cmath>

#include "kernels/support/warp_runs.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {

/// A warp has kRows rows of at most kRuns x 256 elements, whole runs. The bits are those of
/// NormForwardBlock.
template <class T, int kRuns, int kRows, int kWarps>
struct NormForwardRows {
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int64_t kWidest = int64_t(kRuns) * kWarpLanes * kRunNumel;
  NormExtents extents;
  float epsilon;
  LayerNormArrays<T> arrays;

  int64_t blocks() const { return ceil_div(extents.rows, int64_t(kWarps * kRows)); }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t first = (block.index() * kWarps + block.warp()) * kRows;
    if (first >= extents.rows) return;
    Run<T> x[kRows][kRuns];
    for (int i = 0; i < kRows; ++i)
      for (int b = 0; b < kRuns; ++b) x[i][b] = load(block, first + i, b);
    float mean[kRows], rstd[kRows];
    add_rows(block, x, mean, [](int, float value) { return value; });
    for (int i = 0; i < kRows; ++i) mean[i] = mean[i] / float(extents.width);
    keep_packed(block, x);
    add_rows(block, x, rstd, [&](int i, float value) {
      const float difference = value - mean[i];
      return difference * difference;
    });
    for (int i = 0; i < kRows; ++i)
      rstd[i] = 1.0f / std::sqrt(rstd[i] / float(extents.width) + epsilon);
    keep_packed(block, x);
    write(block, first, x, mean, rstd);
    for (int i = 0; i < kRows; ++i) {
      if (block.lane() != i || first + i >= extents.rows) continue;
      arrays.mean[first + i] = mean[i];
      arrays.rstd[first + i] = rstd[i];
    }
  }

 private:
  template <class Block>
  ZERO_DEVICE_ONLY bool has(const Block& block, int b) const {
    return column(block, b) < extents.width;
  }
  template <class Block>
  ZERO_DEVICE_ONLY int64_t column(const Block& block, int b) const {
    return (b * kWarpLanes + block.lane()) * kRunNumel;
  }

  template <class Block>
  ZERO_DEVICE_ONLY Run<T> load(const Block& block, int64_t r, int b) const {
    if (r < extents.rows && has(block, b))
      return run_at(arrays.x, r * extents.width + column(block, b));
    return {};
  }

  /// Or the compiler would hold the elements as they are in fp32, in twice as many registers.
  template <class Block>
  ZERO_DEVICE_ONLY void keep_packed(const Block& block, Run<T> (&x)[kRows][kRuns]) const {
    if (sizeof(T) == sizeof(float)) return;
    for (int i = 0; i < kRows; ++i)
      for (int b = 0; b < kRuns; ++b) block.keep_as_it_is(x[i][b]);
  }

  /// sum[i] = the sum of f(i, x) over row i.
  template <class Block, class F>
  ZERO_DEVICE_ONLY void add_rows(const Block& block, const Run<T> (&x)[kRows][kRuns],
                                 float (&sum)[kRows], const F& f) const {
    for (int i = 0; i < kRows; ++i) sum[i] = 0.0f;
    for (int b = 0; b < kRuns; ++b) {
      if (!has(block, b)) continue;
      for (int k = 0; k < kRunNumel; ++k)
        for (int i = 0; i < kRows; ++i) sum[i] += f(i, float(x[i][b].at[k]));
    }
    for (int step = kWarpLanes / 2; step > 0; step /= 2)
      for (int i = 0; i < kRows; ++i) sum[i] += block.shuffle(sum[i], block.lane() ^ step);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void write(const Block& block, int64_t first, const Run<T> (&x)[kRows][kRuns],
                              const float (&mean)[kRows], const float (&rstd)[kRows]) const {
    for (int b = 0; b < kRuns; ++b) {
      if (!has(block, b)) continue;
      const int64_t j = column(block, b);
      const Run<T> w = run_at(arrays.weight, j), bias = run_at(arrays.bias, j);
      for (int i = 0; i < kRows; ++i) {
        Run<T> to;
        for (int k = 0; k < kRunNumel; ++k)
          to.at[k] = T(std::fma((float(x[i][b].at[k]) - mean[i]) * rstd[i], float(w.at[k]),
                                float(bias.at[k])));
        if (first + i < extents.rows) set_run(arrays.y, (first + i) * extents.width + j, to);
      }
    }
  }
};

}  // namespace zero::kernels
