#pragma once
/// The gradients of layer norm and RMS norm on a GPU, for rows of whole runs. A few warps have a
/// row, each thread the same columns of every row of its block, so sums over rows stay in
/// registers. Templates over a block's thread, so the host can test them.

#include <cmath>

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {

/// A division of the rows among blocks.
struct NormGradShape {
  int rows, width;
  int chunks;  ///< blocks, each with a chunk of consecutive rows
  int runs;    ///< runs of a thread, eight columns each
  int warps;   ///< warps of a group, which works on one row
  int groups;  ///< groups of a block

  ZERO_HOST_DEVICE int threads_of_group() const { return warps * kWarpLanes; }
  ZERO_HOST_DEVICE int threads() const { return groups * threads_of_group(); }
  ZERO_HOST_DEVICE Interval rows_of(int64_t chunk) const { return EvenChunks{rows, chunks}[chunk]; }
};

/// Returns the warps of a multiprocessor that have registers: 128 a thread of two runs, 168 of
/// three.
ZERO_HOST_DEVICE constexpr int norm_grad_warps(int runs) { return runs == 2 ? 16 : 12; }

/// Returns a division by the shape alone, because it decides bits. A thread has two or three runs,
/// whichever leaves fewer without columns. A group has at least four rows. Blocks fill 132
/// multiprocessors once, since a last round of few takes as long as a full one.
inline NormGradShape norm_grad_shape(const NormExtents& extents) {
  constexpr int64_t kProcessors = 132, kLeastRows = 4, kGroupsOfOneWarp = 4;
  constexpr int64_t kMostChunks = 1024;  // as the trees over them take
  const int64_t of_warp = ceil_div(extents.width, kWarpLanes * kRunNumel);
  const int64_t by_two = ceil_div(of_warp, int64_t(2)), by_three = ceil_div(of_warp, int64_t(3));
  const int runs = 2 * by_two < 3 * by_three && by_two <= norm_grad_warps(2) ? 2 : 3;
  const int64_t warps = runs == 2 ? by_two : by_three;
  const int64_t groups = warps == 1 ? kGroupsOfOneWarp : 1;
  const int64_t held = norm_grad_warps(runs) / (warps * groups);
  const int64_t chunks = least(kProcessors * (held < 1 ? 1 : held), kMostChunks);
  return {.rows = int(extents.rows),
          .width = int(extents.width),
          .chunks = int(least(chunks, ceil_div(extents.rows, kLeastRows * groups))),
          .runs = runs,
          .warps = int(warps),
          .groups = int(groups)};
}

/// Returns a row's two sums over a warp at the price of one: the first in half of the lanes, the
/// second in the others.
template <class Block>
ZERO_DEVICE_ONLY float warp_sum_of_two(const Block& block, float first, float second) {
  constexpr int kHalf = kWarpLanes / 2;
  const bool low = block.lane() < kHalf;
  float sum = low ? first : second;
  sum += block.shuffle(low ? second : first, block.lane() ^ kHalf);
  for (int step = kHalf / 2; step > 0; step /= 2) sum += block.shuffle(sum, block.lane() ^ step);
  return sum;
}

/// Returns the vectors of a chunk in the scratch, [chunks, sums, width]: dweight, dbias, perhaps
/// dx_sum.
template <bool kCentred, class T>
ZERO_HOST_DEVICE int norm_grad_sums(const LayerNormGradArrays<T>& arrays) {
  return (kCentred ? 2 : 1) + (arrays.dx_sum == nullptr ? 0 : 1);
}

/// The work of a thread with kRuns runs of eight columns. It copies its group's next row to shared
/// memory while it works on one. kCentred: layer norm. Else RMS norm: the mean is 0, there is no
/// bias, and `rstd` is the inverse root of the mean square.
template <class T, int kRuns, bool kCentred, class Block>
class NormGradThread {
 public:
  using Arrays = LayerNormGradArrays<T>;

  ZERO_DEVICE_ONLY NormGradThread(const Block& block, const NormGradShape& shape,
                                  const Arrays& arrays)
      : block_(block),
        shape_(shape),
        arrays_(arrays),
        group_(block.warp() / shape.warps),
        column_((block.thread() - group_ * shape.threads_of_group()) * int(kRunNumel)) {
    const Interval rows = shape.rows_of(block.index());
    first_ = int(rows.begin) + group_;
    end_ = int(rows.end);
    for (int i = 0; i < kRuns; ++i) weight(i) = has(i) ? run_at(arrays.weight, column(i)) : none();
  }

  /// Computes the chunk. All groups take equally many steps, because their threads meet; the last
  /// rows may not exist.
  ZERO_DEVICE_ONLY void run() {
    next_ = statistics_of(first_);
    copy(slot_, first_);
    for (int row = first_; row - group_ < end_; row += shape_.groups) {
      const Statistics statistics = next_;
      next_ = statistics_of(row + shape_.groups);
      copy(1 - slot_, row + shape_.groups);
      block_.template wait_copies<1>();
      add_row(row, statistics);
      slot_ = 1 - slot_;
    }
    finish();
  }

  /// Returns the floats of shared memory for rows under way and weights.
  ZERO_HOST_DEVICE static int ring_numel(const NormGradShape& shape) {
    return (kSlots * kArrays + 1) * kRuns * shape.threads() * int(sizeof(Run<T>) / sizeof(float));
  }

 private:
  enum Array { kDy, kX, kMore, kArrays };
  struct Statistics {
    float mean, rstd;
  };
  struct Sums {
    float h, along;
  };
  static constexpr int kSlots = 2;

  ZERO_DEVICE_ONLY static Run<T> none() { return {}; }
  ZERO_DEVICE_ONLY int column(int i) const {
    return column_ + i * shape_.threads_of_group() * int(kRunNumel);
  }
  ZERO_DEVICE_ONLY bool has(int i) const { return column(i) < shape_.width; }
  ZERO_DEVICE_ONLY int64_t at(int row, int i) const {
    return int64_t(row) * shape_.width + column(i);
  }
  ZERO_DEVICE_ONLY const T* array(int which) const {
    return which == kDy ? arrays_.dy : which == kX ? arrays_.x : arrays_.add;
  }
  ZERO_DEVICE_ONLY bool has(int row, int i, int which) const {
    return row < end_ && has(i) && (which != kMore || arrays_.add != nullptr);
  }

  ZERO_DEVICE_ONLY Statistics statistics_of(int row) const {
    if (row >= end_) return {0.0f, 0.0f};
    return {kCentred ? arrays_.mean[row] : 0.0f, arrays_.rstd[row]};
  }

  /// Returns a run that the thread copied itself, so it waits for no other.
  ZERO_DEVICE_ONLY Run<T>& slot(int number, int which, int i) const {
    return run_of_thread((number * kArrays + which) * kRuns + i);
  }
  ZERO_DEVICE_ONLY Run<T>& run_of_thread(int run) const {
    return reinterpret_cast<Run<T>*>(block_.shared())[run * shape_.threads() + block_.thread()];
  }

  ZERO_DEVICE_ONLY void copy(int number, int row) const {
    for (int which = 0; which < kArrays; ++which) {
      for (int i = 0; i < kRuns; ++i) {
        if (has(row, i, which))
          block_.copy_async(&slot(number, which, i), array(which) + at(row, i), sizeof(Run<T>));
        else
          slot(number, which, i) = none();
      }
    }
    block_.commit_copies();
  }

  /// Returns a run of the current row. It is read again for dx, because holding it takes more
  /// registers.
  ZERO_DEVICE_ONLY Run<T> operand(int which, int i) const { return slot(slot_, which, i); }

  ZERO_DEVICE_ONLY Run<T>& weight(int i) const {
    return run_of_thread(kSlots * kArrays * kRuns + i);
  }

  ZERO_DEVICE_ONLY float number_of(T weight) const {
    return kCentred ? float(weight) : arrays_.offset + float(weight);
  }

  /// Adds a row, and writes dx = rstd (h - mean(h) - xhat mean(h xhat)) + add,  h = dy weight
  ZERO_DEVICE_ONLY void add_row(int row, const Statistics& s) {
    Sums sums{0.0f, 0.0f};
    for (int i = 0; i < kRuns; ++i) {
      const Run<T> dys = operand(kDy, i), xs = operand(kX, i), weights = weight(i);
      for (int e = 0; e < kRunNumel; ++e) {
        const float dy = float(dys.at[e]), xhat = (float(xs.at[e]) - s.mean) * s.rstd;
        const float h = dy * number_of(weights.at[e]);
        sums.h += h;
        sums.along = std::fma(h, xhat, sums.along);
        dweight_[i].at[e] = std::fma(dy, xhat, dweight_[i].at[e]);
        if (kCentred) dbias_[i].at[e] += dy;
      }
    }
    write(row, s, means_of_row(sums));
  }

  ZERO_DEVICE_ONLY void write(int row, const Statistics& s, const Sums& mean) {
    for (int i = 0; i < kRuns; ++i) {
      const Run<T> dys = operand(kDy, i), xs = operand(kX, i), adds = operand(kMore, i),
                   weights = weight(i);
      Run<T> dx;
      for (int e = 0; e < kRunNumel; ++e) {
        const float xhat = (float(xs.at[e]) - s.mean) * s.rstd;
        const float h = float(dys.at[e]) * number_of(weights.at[e]);
        const float across = kCentred ? h - mean.h : h;
        dx.at[e] = T(std::fma(std::fma(-xhat, mean.along, across), s.rstd, float(adds.at[e])));
        dx_[i].at[e] += float(dx.at[e]);
      }
      if (row < end_ && has(i)) set_run(arrays_.dx, at(row, i), dx);
    }
  }

  /// Returns the row's means. Sums of warps lie behind the rows under way, in slots, because a warp
  /// may begin the next row while another still reads this one's.
  ZERO_DEVICE_ONLY Sums means_of_row(const Sums& mine) const {
    constexpr int kHalf = kWarpLanes / 2;
    const float sum = warp_sum_of_two(block_, mine.h, mine.along);
    Sums total{0.0f, 0.0f};
    if (shape_.warps == 1) {
      total = {block_.shuffle(sum, 0), block_.shuffle(sum, kHalf)};
    } else {
      float* const of_block =
          block_.shared() + ring_numel(shape_) + slot_ * 2 * shape_.groups * shape_.warps;
      if (block_.lane() % kHalf == 0) of_block[2 * block_.warp() + block_.lane() / kHalf] = sum;
      block_.sync();
      const float* const of_warps = of_block + 2 * group_ * shape_.warps;
      for (int w = 0; w < shape_.warps; ++w) {
        total.h += of_warps[2 * w];
        total.along += of_warps[2 * w + 1];
      }
    }
    return {total.h / float(shape_.width), total.along / float(shape_.width)};
  }

  /// Adds the groups' sums in order; the last group writes them.
  ZERO_DEVICE_ONLY void finish() {
    for (int g = 0; g < shape_.groups; ++g) {
      block_.sync();
      if (group_ != g) continue;
      for (int i = 0; i < kRuns; ++i) {
        pass_on(0, i, dweight_[i]);
        if (kCentred) pass_on(1, i, dbias_[i]);
        if (arrays_.dx_sum != nullptr) pass_on(kCentred ? 2 : 1, i, dx_[i]);
      }
    }
  }

  ZERO_DEVICE_ONLY void pass_on(int s, int i, Run<float> sum) const {
    if (!has(i)) return;
    float* const between = block_.shared() + s * shape_.width;
    if (group_ > 0) {
      const Run<float> before = run_at(between, column(i));
      for (int e = 0; e < kRunNumel; ++e) sum.at[e] = before.at[e] + sum.at[e];
    }
    if (group_ + 1 < shape_.groups) return set_run(between, column(i), sum);
    const int64_t vector = block_.index() * norm_grad_sums<kCentred>(arrays_) + s;
    set_run(arrays_.scratch, vector * shape_.width + column(i), sum);
  }

  const Block& block_;
  const NormGradShape& shape_;
  const Arrays& arrays_;
  const int group_, column_;
  int first_, end_;  ///< rows
  int slot_ = 0;     ///< slot of the current row
  Run<float> dweight_[kRuns] = {}, dbias_[kRuns] = {}, dx_[kRuns] = {};
  Statistics next_;
};

template <class T, int kRuns, bool kCentred>
struct NormGradRows {
  static constexpr int kMostThreads = norm_grad_warps(kRuns) * kWarpLanes;
  NormGradShape shape;  ///< with kRuns runs
  LayerNormGradArrays<T> arrays;

  template <class Block>
  using Thread = NormGradThread<T, kRuns, kCentred, Block>;

  /// Returns the floats of shared memory of a block: rows under way, weights and sums of warps, or
  /// sums between groups.
  int64_t shared_numel() const {
    const int rows = Thread<int>::ring_numel(shape) + 4 * shape.groups * shape.warps;
    const int between = shape.groups > 1 ? norm_grad_sums<kCentred>(arrays) * shape.width : 0;
    return rows < between ? between : rows;
  }

  /// True if registers and shared memory of a block suffice.
  bool fits() const {
    constexpr int64_t kSharedBytes = int64_t(160) << 10;
    return shape.threads() <= kMostThreads &&
           shared_numel() * int64_t(sizeof(float)) <= kSharedBytes;
  }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    Thread<Block>(block, shape, arrays).run();
  }
};

}  // namespace zero::kernels
