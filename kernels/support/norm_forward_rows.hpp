#pragma once
/// Layer norm on a GPU whose warps hold a row in registers and read it once. A template over a
/// block's thread, so the host can test it.

#include <cmath>

#include "kernels/support/warp_runs.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {

/// Layer norm of rows of whole runs, at most kRuns x 256 elements, one row a warp. The bits are
/// those of NormForwardBlock.
template <class T, int kRuns>
struct NormForwardRows {
  static constexpr int kWarps = 4;  ///< warps of a block; with eight, fewer would run at once
  static constexpr int kThreads = kWarps * kWarpLanes;
  static constexpr int64_t kWidest = int64_t(kRuns) * kWarpLanes * kRunNumel;
  NormExtents extents;
  float epsilon;
  LayerNormArrays<T> arrays;

  int64_t blocks() const { return ceil_div(extents.rows, int64_t(kWarps)); }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t r = block.index() * kWarps + block.warp();
    if (r >= extents.rows) return;
    const float width = float(extents.width);
    Run<T> x[kRuns];
    for (int b = 0; b < kRuns; ++b)
      x[b] = has(block, b) ? run_at(arrays.x, r * extents.width + column(block, b)) : Run<T>{};
    const float mean = sum_of_row(block, x, [](float value) { return value; }) / width;
    keep_packed(block, x);
    const float variance = sum_of_row(block, x, [=](float value) {
      const float difference = value - mean;
      return difference * difference;
    });
    const float rstd = 1.0f / std::sqrt(variance / width + epsilon);
    keep_packed(block, x);
    write(block, r, x, mean, rstd);
    if (block.lane() == 0) {
      arrays.mean[r] = mean;
      arrays.rstd[r] = rstd;
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

  /// Keeps the elements in T. The compiler would otherwise hold them in fp32, in twice as many
  /// registers.
  template <class Block>
  ZERO_DEVICE_ONLY void keep_packed(const Block& block, Run<T> (&x)[kRuns]) const {
    if constexpr (sizeof(T) < sizeof(float)) {
      for (int b = 0; b < kRuns; ++b) block.keep_as_it_is(x[b]);
    }
  }

  /// Returns the sum of f over the row.
  template <class Block, class F>
  ZERO_DEVICE_ONLY float sum_of_row(const Block& block, const Run<T> (&x)[kRuns],
                                    const F& f) const {
    float sum = 0.0f;
    for (int b = 0; b < kRuns; ++b) {
      if (!has(block, b)) continue;
      for (int k = 0; k < kRunNumel; ++k) sum += f(float(x[b].at[k]));
    }
    return warp_sum(block, sum);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void write(const Block& block, int64_t r, const Run<T> (&x)[kRuns], float mean,
                              float rstd) const {
    for (int b = 0; b < kRuns; ++b) {
      if (!has(block, b)) continue;
      const int64_t j = column(block, b);
      const Run<T> w = run_at(arrays.weight, j), bias = run_at(arrays.bias, j);
      Run<T> to;
      for (int k = 0; k < kRunNumel; ++k) {
        to.at[k] =
            T(std::fma((float(x[b].at[k]) - mean) * rstd, float(w.at[k]), float(bias.at[k])));
      }
      set_run(arrays.y, r * extents.width + j, to);
    }
  }
};

}  // namespace zero::kernels
