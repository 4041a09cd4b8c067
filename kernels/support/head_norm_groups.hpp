#pragma once
/// Norms of heads on a GPU: a head has the fewest lanes of a warp that hold it in runs of eight
/// elements, a power of two. A template over a block's thread, so the host can test it.

#include <cmath>

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/head_norm.hpp"

namespace zero::kernels {

/// Returns the lanes of a group. REQUIRES: the width is at most 32 runs.
ZERO_HOST_DEVICE constexpr int group_lanes(int64_t head_width) {
  int lanes = 1;
  while (lanes * kRunNumel < head_width) lanes *= 2;
  return lanes;
}

/// Returns the sum over a group's lanes to each of them.
template <class Block>
ZERO_DEVICE_ONLY float group_sum(const Block& block, float value, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2)
    value += block.shuffle(value, block.lane() ^ step);
  return value;
}

/// A head of some row, of those of all rows. Heads behind the last one are absent.
struct HeadOfRows {
  int64_t row, head;
  bool exists, is_query, is_key;

  ZERO_HOST_DEVICE HeadOfRows(const PackedHeads& of, int64_t number, int64_t end) {
    row = number / of.heads_in_row();
    head = number - row * of.heads_in_row();
    exists = number < end;
    is_query = exists && head < of.heads;
    is_key = exists && !is_query && head < of.heads_before_values();
  }
  ZERO_HOST_DEVICE bool has_norm() const { return is_query || is_key; }
};

template <class T>
struct HeadNormGroups {
  static constexpr int kThreads = 256;
  HeadNormExtents extents;
  HeadNormArrays<T> arrays;

  int64_t shared_numel() const { return 0; }
  int64_t blocks() const {
    const int64_t groups = kThreads / group_lanes(extents.packed.head_width);
    return ceil_div(extents.packed.rows * extents.packed.heads_in_row(), groups);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const PackedHeads& of = extents.packed;
    const int lanes = group_lanes(of.head_width), group = block.thread() / lanes;
    const int64_t number = block.index() * (kThreads / lanes) + group;
    const HeadOfRows at(of, number, of.rows * of.heads_in_row());
    const int64_t column = (block.thread() - group * lanes) * kRunNumel;
    const bool has = at.exists && column < of.head_width;
    Run<T> x = {};
    if (has) x = run_at(arrays.x, number * of.head_width + column);
    float squares = 0.0f;
    for (int k = 0; k < kRunNumel; ++k) squares += float(x.at[k]) * float(x.at[k]);
    squares = group_sum(block, squares, lanes);
    if (!has) return;
    if (at.has_norm()) {
      const float rrms = 1.0f / std::sqrt(squares / float(of.head_width) + arrays.epsilon);
      const Run<T> w = run_at(at.is_query ? arrays.query_weight : arrays.key_weight, column);
      for (int k = 0; k < kRunNumel; ++k)
        x.at[k] = T(float(x.at[k]) * rrms * (arrays.offset + float(w.at[k])));
      if (column == 0) arrays.rrms[at.row * extents.norms() + at.head] = rrms;
    }
    set_run(arrays.y, number * of.head_width + column, x);
  }
};

/// The gradients of a chunk of rows by one block. A group has every `groups` th head of the chunk,
/// and its lanes hold their columns' sums for the weights. Groups of a warp add them as a tree, and
/// warps in order.
template <class T>
struct HeadNormGradGroups {
  static constexpr int kThreads = 512, kWarps = kThreads / kWarpLanes;
  HeadNormExtents extents;
  RowChunks chunks;
  HeadNormGradArrays<T> arrays;

  int64_t shared_numel() const { return kWarps * extents.weights(); }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const PackedHeads& of = extents.packed;
    const int lanes = group_lanes(of.head_width), group = block.thread() / lanes;
    const int64_t groups = kThreads / lanes, column = (block.thread() - group * lanes) * kRunNumel;
    const Interval rows = chunks[block.index()];
    const int64_t end = rows.end * of.heads_in_row();
    Run<float> query = {}, key = {};
    for (int64_t first = rows.begin * of.heads_in_row(); first < end; first += kAtOnce * groups) {
      Loaded loaded[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) loaded[i] = load(first + i * groups + group, end, column);
      for (int i = 0; i < kAtOnce; ++i)
        add(block, first + i * groups + group, end, column, loaded[i], query, key);
    }
    finish(block, lanes, column, query, key);
  }

 private:
  static constexpr int kAtOnce = 2;  ///< heads whose loads are under way
  struct Loaded {
    Run<T> dy = {}, x = {};
  };

  ZERO_DEVICE_ONLY Loaded load(int64_t number, int64_t end, int64_t column) const {
    const int64_t width = extents.packed.head_width;
    if (number >= end || column >= width) return {};
    return {run_at(arrays.dy, number * width + column), run_at(arrays.x, number * width + column)};
  }

  /// Adds a head to its weight's sums, and writes its dx.
  template <class Block>
  ZERO_DEVICE_ONLY void add(const Block& block, int64_t number, int64_t end, int64_t column,
                            const Loaded& from, Run<float>& query, Run<float>& key) const {
    const PackedHeads& of = extents.packed;
    const HeadOfRows at(of, number, end);
    const bool acts = at.has_norm() && column < of.head_width;
    const float rrms = acts ? arrays.rrms[at.row * extents.norms() + at.head] : 0.0f;
    Run<T> w = {};
    if (acts) w = run_at(at.is_query ? arrays.query_weight : arrays.key_weight, column);
    float h[kRunNumel], xhat[kRunNumel], along = 0.0f;
    for (int k = 0; k < kRunNumel; ++k) {
      h[k] = float(from.dy.at[k]) * (arrays.offset + float(w.at[k]));
      xhat[k] = float(from.x.at[k]) * rrms;
      along += h[k] * xhat[k];
    }
    along = group_sum(block, along, group_lanes(of.head_width)) / float(of.head_width);
    if (!at.exists || column >= of.head_width) return;
    Run<T> dx = from.dy;
    if (acts) {
      for (int k = 0; k < kRunNumel; ++k) {
        const float more = float(from.dy.at[k]) * xhat[k];
        query.at[k] += at.is_query ? more : 0.0f;
        key.at[k] += at.is_query ? 0.0f : more;
        dx.at[k] = T((h[k] - xhat[k] * along) * rrms);
      }
    }
    set_run(arrays.dx, number * of.head_width + column, dx);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void finish(const Block& block, int lanes, int64_t column, Run<float>& query,
                               Run<float>& key) const {
    const int64_t width = extents.packed.head_width, weights = extents.weights();
    for (int step = lanes; step < kWarpLanes; step *= 2) {
      for (int k = 0; k < kRunNumel; ++k) {
        query.at[k] += block.shuffle(query.at[k], block.lane() ^ step);
        key.at[k] += block.shuffle(key.at[k], block.lane() ^ step);
      }
    }
    float* const of_warp = block.shared() + block.warp() * weights;
    if (block.lane() < lanes && column < width) {
      for (int k = 0; k < kRunNumel; ++k) {
        of_warp[column + k] = query.at[k];
        of_warp[width + column + k] = key.at[k];
      }
    }
    block.sync();
    for (int64_t j = block.thread(); j < weights; j += kThreads) {
      float sum = 0.0f;
      for (int warp = 0; warp < kWarps; ++warp) sum += block.shared()[warp * weights + j];
      arrays.scratch[block.index() * weights + j] = sum;
    }
  }
};

}  // namespace zero::kernels
