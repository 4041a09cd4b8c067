#pragma once
/// Layer norm and RMS norm as a GPU computes them: a warp has a row and reads 16 bytes a lane.
/// Templates over a block's thread, so the host can test them.

#include <cmath>

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {

/// Warps of a forward block, one row each.
inline constexpr int kNormWarps = 8;

/// Returns the sum of f(x[j]) over a warp's row. A lane adds its runs in order, with several loads
/// under way, then the lanes add.
template <class Block, class T, bool kWhole, class F>
ZERO_DEVICE_ONLY float sum_of_row(const Block& block, const RunsOfRow<const T, kWhole>& x,
                                  const F& f) {
  constexpr int kAtOnce = 4;
  constexpr int64_t kStep = kWarpLanes * kRunNumel;
  float total = 0.0f;
  for (int64_t j = block.lane() * kRunNumel; j < x.width; j += kAtOnce * kStep) {
    Run<T> run[kAtOnce];
    for (int b = 0; b < kAtOnce; ++b) run[b] = x.load(j + b * kStep);
    for (int b = 0; b < kAtOnce; ++b) {
      for (int k = 0; k < kRunNumel; ++k)
        if (x.has(j + b * kStep, k)) total += f(float(run[b].at[k]));
    }
  }
  return warp_sum(block, total);
}

/// The rows of a norm, a warp each.
struct NormRows {
  NormExtents extents;
  float epsilon;

  int64_t blocks() const { return ceil_div(extents.rows, int64_t(kNormWarps)); }
  /// Returns the row of this thread's warp; some of the last block's lie behind the last one.
  template <class Block>
  ZERO_DEVICE_ONLY int64_t row_of(const Block& block) const {
    return block.index() * kNormWarps + block.warp();
  }
};

/// Layer norm in three passes over a row, of which the later two find it in the cache.
template <class T, bool kWhole>
struct NormForwardBlock : NormRows {
  LayerNormArrays<T> arrays;

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t r = row_of(block), width = extents.width;
    if (r >= extents.rows) return;
    const RunsOfRow<const T, kWhole> x{arrays.x + r * width, width};
    const float mean = sum_of_row(block, x, [](float value) { return value; }) / float(width);
    const float variance = sum_of_row(block, x, [=](float value) {
      const float difference = value - mean;
      return difference * difference;
    });
    const float rstd = 1.0f / std::sqrt(variance / float(width) + epsilon);
    write(block, r, mean, rstd);
    if (block.lane() == 0) {
      arrays.mean[r] = mean;
      arrays.rstd[r] = rstd;
    }
  }

 private:
  template <class Block>
  ZERO_DEVICE_ONLY void write(const Block& block, int64_t r, float mean, float rstd) const {
    const int64_t width = extents.width;
    const RunsOfRow<const T, kWhole> x{arrays.x + r * width, width}, weight{arrays.weight, width},
        bias{arrays.bias, width};
    const RunsOfRow<T, kWhole> y{arrays.y + r * width, width};
    for_each_run(block, width, [&](int64_t j) {
      const Run<T> from = x.load(j), w = weight.load(j), b = bias.load(j);
      Run<T> to;
      for (int k = 0; k < kRunNumel; ++k) {
        to.at[k] = T(std::fma((float(from.at[k]) - mean) * rstd, float(w.at[k]), float(b.at[k])));
      }
      y.store(j, to);
    });
  }
};

/// Warps of a backward block.
inline constexpr int kNormGradWarps = 16;

/// The gradients of a chunk of rows by one block, which goes over tiles of rows, a row a warp.
/// First each thread adds its columns of the tile's rows to the chunk's sums, in order, with the
/// host's bits. This also brings the tile into the cache. Then each warp writes dx of its row,
/// which may lie where dy does. If columns of dx are added too, threads have columns once more.
template <class T, bool kWhole>
struct NormGradBlock {
  RowChunks chunks;
  int64_t width;
  LayerNormGradArrays<T> arrays;

  /// Returns the vectors of a chunk in the scratch, [sums, width]: dweight, dbias and perhaps
  /// dx_sum.
  ZERO_HOST_DEVICE int sums() const { return arrays.dx_sum == nullptr ? 2 : 3; }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const Interval rows = chunks[block.index()];
    float* const partial = arrays.scratch + block.index() * sums() * width;
    for (int64_t first = rows.begin; first < rows.end; first += kNormGradWarps) {
      const Interval tile{first, least(first + kNormGradWarps, rows.end)};
      const bool start = first == rows.begin;
      add_parameters(block, tile, start, partial);
      block.sync();
      if (first + block.warp() < tile.end) write_row(block, first + block.warp());
      if (arrays.dx_sum == nullptr) continue;
      block.sync();
      add_columns_of_dx(block, tile, start, partial + 2 * width);
    }
  }

 private:
  /// 16-byte loads that a thread has under way, in rows of a column.
  static constexpr int kAtOnce = sizeof(T) == 2 ? 8 : 4;

  ZERO_DEVICE_ONLY RunsOfRow<const T, kWhole> row_of(const T* array, int64_t r) const {
    return {array + r * width, width};
  }

  /// Calls f(first) for each run of columns of this thread.
  template <class Block, class F>
  ZERO_DEVICE_ONLY void for_each_column_run(const Block& block, const F& f) const {
    constexpr int64_t kStep = kNormGradWarps * kWarpLanes * kRunNumel;
    for (int64_t j = block.thread() * kRunNumel; j < width; j += kStep) f(j);
  }

  ZERO_DEVICE_ONLY static void add_row(const Run<T>& dy, const Run<T>& x, float mean, float rstd,
                                       Run<float>& dweight, Run<float>& dbias) {
    for (int k = 0; k < kRunNumel; ++k) {
      const float gradient = float(dy.at[k]);
      dweight.at[k] += gradient * ((float(x.at[k]) - mean) * rstd);
      dbias.at[k] += gradient;
    }
  }

  template <class Block>
  ZERO_DEVICE_ONLY void add_parameters(const Block& block, const Interval& tile, bool start,
                                       float* partial) const {
    const RunsOfRow<float, kWhole> weights{partial, width}, biases{partial + width, width};
    for_each_column_run(block, [&](int64_t j) {
      Run<float> dweight = start ? Run<float>{} : weights.load(j);
      Run<float> dbias = start ? Run<float>{} : biases.load(j);
      int64_t r = tile.begin;
      for (; r + kAtOnce <= tile.end; r += kAtOnce) {
        Run<T> dy[kAtOnce], x[kAtOnce];
        for (int i = 0; i < kAtOnce; ++i) {
          dy[i] = row_of(arrays.dy, r + i).load(j);
          x[i] = row_of(arrays.x, r + i).load(j);
        }
        for (int i = 0; i < kAtOnce; ++i)
          add_row(dy[i], x[i], arrays.mean[r + i], arrays.rstd[r + i], dweight, dbias);
      }
      for (; r < tile.end; ++r) {
        add_row(row_of(arrays.dy, r).load(j), row_of(arrays.x, r).load(j), arrays.mean[r],
                arrays.rstd[r], dweight, dbias);
      }
      weights.store(j, dweight);
      biases.store(j, dbias);
    });
  }

  /// Adds four rows at a time, in the order of column_sum(). REQUIRES: the tile begins at a
  /// multiple of four rows.
  template <class Block>
  ZERO_DEVICE_ONLY void add_columns_of_dx(const Block& block, const Interval& tile, bool start,
                                          float* partial) const {
    static_assert(kNormGradWarps % 4 == 0);
    const RunsOfRow<float, kWhole> sums{partial, width};
    for_each_column_run(block, [&](int64_t j) {
      Run<float> sum = start ? Run<float>{} : sums.load(j);
      int64_t r = tile.begin;
      for (; r + 4 <= tile.end; r += 4) {
        Run<T> dx[4];
        for (int i = 0; i < 4; ++i) dx[i] = row_of(arrays.dx, r + i).load(j);
        for (int k = 0; k < kRunNumel; ++k) {
          sum.at[k] +=
              (float(dx[0].at[k]) + float(dx[1].at[k])) + (float(dx[2].at[k]) + float(dx[3].at[k]));
        }
      }
      for (; r < tile.end; ++r) {
        const Run<T> dx = row_of(arrays.dx, r).load(j);
        for (int k = 0; k < kRunNumel; ++k) sum.at[k] += float(dx.at[k]);
      }
      sums.store(j, sum);
    });
  }

  /// Writes dx = rstd (h - mean(h) - xhat mean(h xhat)) + add,  h = dy weight
  template <class Block>
  ZERO_DEVICE_ONLY void write_row(const Block& block, int64_t r) const {
    const auto dy = row_of(arrays.dy, r), x = row_of(arrays.x, r),
               weight = row_of(arrays.weight, 0);
    const float mean = arrays.mean[r], rstd = arrays.rstd[r];
    float h_sum = 0.0f, along_sum = 0.0f;
    for_each_run(block, width, [&](int64_t j) {
      const Run<T> g = dy.load(j), v = x.load(j), w = weight.load(j);
      for (int k = 0; k < kRunNumel; ++k) {
        const float h = float(g.at[k]) * float(w.at[k]);
        h_sum += h;
        along_sum += h * ((float(v.at[k]) - mean) * rstd);
      }
    });
    const float h_mean = warp_sum(block, h_sum) / float(width);
    const float h_along = warp_sum(block, along_sum) / float(width);
    const RunsOfRow<T, kWhole> dx{arrays.dx + r * width, width};
    const auto gradient = [=](const Run<T>& g, const Run<T>& v, const Run<T>& w, int k) {
      const float xhat = (float(v.at[k]) - mean) * rstd;
      return (float(g.at[k]) * float(w.at[k]) - h_mean - xhat * h_along) * rstd;
    };
    // Several runs of `add` are loaded before the first store.
    constexpr int kRuns = 4;
    constexpr int64_t kStep = kWarpLanes * kRunNumel;
    const bool adds = arrays.add != nullptr;
    const auto add = row_of(adds ? arrays.add : arrays.dy, r);
    for (int64_t first = block.lane() * kRunNumel; first < width; first += kRuns * kStep) {
      Run<T> more[kRuns];
      for (int b = 0; b < kRuns; ++b) more[b] = add.load(first + b * kStep);
      for (int b = 0; b < kRuns; ++b) {
        const int64_t j = first + b * kStep;
        const Run<T> g = dy.load(j), v = x.load(j), w = weight.load(j);
        Run<T> to;
        for (int k = 0; k < kRunNumel; ++k) {
          const float alone = gradient(g, v, w, k);
          to.at[k] = T(adds ? alone + float(more[b].at[k]) : alone);
        }
        dx.store(j, to);
      }
    }
  }
};

/// RMS norm in two passes over a row, of which the second finds it in the cache.
template <class T, bool kWhole>
struct RmsForwardBlock : NormRows {
  RmsNormArrays<T> arrays;

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t r = row_of(block), width = extents.width;
    if (r >= extents.rows) return;
    const RunsOfRow<const T, kWhole> x{arrays.x + r * width, width}, weight{arrays.weight, width};
    const RunsOfRow<T, kWhole> y{arrays.y + r * width, width};
    const float squares = sum_of_row(block, x, [](float value) { return value * value; });
    const float rrms = 1.0f / std::sqrt(squares / float(width) + epsilon);
    for_each_run(block, width, [&](int64_t j) {
      const Run<T> from = x.load(j), w = weight.load(j);
      Run<T> to;
      for (int k = 0; k < kRunNumel; ++k)
        to.at[k] = T(float(from.at[k]) * rrms * (arrays.offset + float(w.at[k])));
      y.store(j, to);
    });
    if (block.lane() == 0) arrays.rrms[r] = rrms;
  }
};

/// The NormGradBlock of RMS norm, with one sum of a row.
template <class T, bool kWhole>
struct RmsGradBlock {
  RowChunks chunks;
  int64_t width;
  RmsNormGradArrays<T> arrays;

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const Interval rows = chunks[block.index()];
    const RunsOfRow<float, kWhole> sums{arrays.scratch + block.index() * width, width};
    for (int64_t first = rows.begin; first < rows.end; first += kNormGradWarps) {
      const Interval tile{first, least(first + kNormGradWarps, rows.end)};
      add_columns(block, tile, first == rows.begin, sums);
      block.sync();
      if (first + block.warp() < tile.end) write_row(block, first + block.warp());
    }
  }

 private:
  /// 16-byte loads that a thread has under way, in rows of a column.
  static constexpr int kAtOnce = sizeof(T) == 2 ? 8 : 4;

  ZERO_DEVICE_ONLY RunsOfRow<const T, kWhole> row_of(const T* array, int64_t r) const {
    return {array + r * width, width};
  }

  ZERO_DEVICE_ONLY static void add_row(const Run<T>& dy, const Run<T>& x, float rrms,
                                       Run<float>& sum) {
    for (int k = 0; k < kRunNumel; ++k) sum.at[k] += float(dy.at[k]) * (float(x.at[k]) * rrms);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void add_columns(const Block& block, const Interval& tile, bool start,
                                    const RunsOfRow<float, kWhole>& sums) const {
    constexpr int64_t kStep = kNormGradWarps * kWarpLanes * kRunNumel;
    for (int64_t j = block.thread() * kRunNumel; j < width; j += kStep) {
      Run<float> sum = start ? Run<float>{} : sums.load(j);
      int64_t r = tile.begin;
      for (; r + kAtOnce <= tile.end; r += kAtOnce) {
        Run<T> dy[kAtOnce], x[kAtOnce];
        for (int i = 0; i < kAtOnce; ++i) {
          dy[i] = row_of(arrays.dy, r + i).load(j);
          x[i] = row_of(arrays.x, r + i).load(j);
        }
        for (int i = 0; i < kAtOnce; ++i) add_row(dy[i], x[i], arrays.rrms[r + i], sum);
      }
      for (; r < tile.end; ++r)
        add_row(row_of(arrays.dy, r).load(j), row_of(arrays.x, r).load(j), arrays.rrms[r], sum);
      sums.store(j, sum);
    }
  }

  /// Writes dx = rrms (h - xhat mean(h xhat)) + add,  h = dy (offset + weight),  xhat = x rrms
  template <class Block>
  ZERO_DEVICE_ONLY void write_row(const Block& block, int64_t r) const {
    const auto dy = row_of(arrays.dy, r), x = row_of(arrays.x, r),
               weight = row_of(arrays.weight, 0);
    const float rrms = arrays.rrms[r];
    float along_sum = 0.0f;
    for_each_run(block, width, [&](int64_t j) {
      const Run<T> g = dy.load(j), v = x.load(j), w = weight.load(j);
      for (int k = 0; k < kRunNumel; ++k)
        along_sum += float(g.at[k]) * (arrays.offset + float(w.at[k])) * (float(v.at[k]) * rrms);
    });
    const float along = warp_sum(block, along_sum) / float(width);
    const RunsOfRow<T, kWhole> dx{arrays.dx + r * width, width};
    const bool adds = arrays.add != nullptr;
    const auto add = row_of(adds ? arrays.add : arrays.dy, r);
    for_each_run(block, width, [&](int64_t j) {
      const Run<T> g = dy.load(j), v = x.load(j), w = weight.load(j), more = add.load(j);
      Run<T> to;
      for (int k = 0; k < kRunNumel; ++k) {
        const float xhat = float(v.at[k]) * rrms;
        const float h = float(g.at[k]) * (arrays.offset + float(w.at[k]));
        const float alone = (h - xhat * along) * rrms;
        to.at[k] = T(adds ? alone + float(more.at[k]) : alone);
      }
      dx.store(j, to);
    });
  }
};

}  // namespace zero::kernels
