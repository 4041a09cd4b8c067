#pragma once
/// The first half of a sum over rows on a GPU, for rows of whole runs. A block has a tile of
/// columns of a chunk of rows, and its warps take turns at the rows. A template over a block's
/// thread, so the host can test it.

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"

namespace zero::kernels {

/// A sum of columns. A thread has eight of them, and kAtOnce rows under way.
template <class T>
struct ColumnTiles {
  static constexpr int kAtOnce = 8;
  static constexpr int kBlocksAtOnce = 5;  ///< blocks of a multiprocessor, bounding registers
  static constexpr int kWarps = 8, kThreads = kWarps * kWarpLanes;
  static constexpr int kColumns = kWarpLanes * int(kRunNumel);  ///< columns of a tile
  static constexpr int64_t kSharedNumel = kWarps * kColumns;
  EvenChunks chunks;
  int64_t columns;
  const T* x;      ///< [rows, columns]
  float* partial;  ///< [chunks, columns], written

  ZERO_HOST_DEVICE int64_t tiles() const { return ceil_div(columns, int64_t(kColumns)); }
  int64_t blocks() const { return chunks.count * tiles(); }
  /// Returns as many chunks as 132 multiprocessors hold at once, of at least 64 rows. Depends on
  /// the shape alone, because it decides bits.
  static EvenChunks chunks_of(int64_t rows, int64_t columns) {
    constexpr int64_t kBlocks = 132 * kBlocksAtOnce, kLeastRows = kWarps * kAtOnce;
    const int64_t chunks = kBlocks / ceil_div(columns, int64_t(kColumns));
    return {rows, least(chunks < 1 ? 1 : chunks, ceil_div(rows, kLeastRows))};
  }
  static bool takes(int64_t columns, const T* x, const float* partial) {
    return columns % kRunNumel == 0 && takes_runs(x) && takes_runs(partial);
  }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t chunk = block.index() / tiles();
    const int64_t first = (block.index() - chunk * tiles()) * kColumns;
    set_run(block.shared(), block.thread() * kRunNumel,
            sum_of_warp(block, chunks[chunk], first + block.lane() * kRunNumel));
    block.sync();
    const int64_t j = first + block.thread();
    if (j >= columns) return;
    float sum = 0.0f;
    for (int w = 0; w < kWarps; ++w) sum += block.shared()[w * kColumns + block.thread()];
    partial[chunk * columns + j] = sum;
  }

 private:
  static_assert(kThreads == kColumns);

  /// Returns the sum of a warp's rows, which are kWarps apart.
  template <class Block>
  ZERO_DEVICE_ONLY Run<float> sum_of_warp(const Block& block, const Interval& rows,
                                          int64_t j) const {
    Run<float> sum{};
    if (j >= columns) return sum;
    int64_t r = rows.begin + block.warp();
    for (; r + (kAtOnce - 1) * kWarps < rows.end; r += kAtOnce * kWarps) {
      Run<T> run[kAtOnce];
      for (int i = 0; i < kAtOnce; ++i) run[i] = run_at(x, (r + i * kWarps) * columns + j);
      for (int i = 0; i < kAtOnce; ++i) add(run[i], sum);
    }
    for (; r < rows.end; r += kWarps) add(run_at(x, r * columns + j), sum);
    return sum;
  }

  ZERO_DEVICE_ONLY static void add(const Run<T>& run, Run<float>& sum) {
    for (int k = 0; k < kRunNumel; ++k) sum.at[k] += float(run.at[k]);
  }
};

}  // namespace zero::kernels
