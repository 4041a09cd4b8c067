#pragma once
/// Softmax cross-entropy by blocks that stay on their multiprocessors: while registers hold a row,
/// the next one is on its way to shared memory, so that loads, exponentials and stores overlap. A
/// template over a thread of a block, so that the host runs it in tests.

#include "kernels/support/softmax_block.hpp"

namespace zero::kernels {

/// Floats that an access of 16 bytes moves.
inline constexpr int kPieceNumel = 4;

/// A warp's part of a row in shared memory. Its lanes copy pieces that follow each other, and then
/// read runs of two pieces each. The places of pieces let neither meet in a bank.
struct StagedRuns {
  static constexpr int kRunPieces = int(kRunNumel) / kPieceNumel;
  static constexpr int kWarpNumel = kWarpLanes * int(kRunNumel);

  /// Of a piece of a warp's 64, in floats.
  ZERO_HOST_DEVICE static int place(int piece) {
    const int odd = piece % kRunPieces;
    return ((piece / kRunPieces ^ 4 * odd) + kWarpLanes * odd) * kPieceNumel;
  }
};

/// Block b has rows b, b + block.blocks(), and so on. The bits are those of SoftmaxBlock.
template <class T, class Loss = PlainLoss>
struct StagedSoftmax {
  using Row = HeldRow<T, Loss>;
  static constexpr int kThreads = Row::kThreads;
  /// Where a row begins in shared memory, in floats: behind what HeldRow uses.
  static constexpr int64_t kStageBegin = (Row::kSharedNumel + 31) / 32 * 32;
  Row row;
  int64_t row_count;

  /// Floats of shared memory that a block wants.
  static int64_t shared_numel(int64_t padded_vocabulary) {
    constexpr int64_t kWarp = StagedRuns::kWarpNumel;
    return kStageBegin + (padded_vocabulary + kWarp - 1) / kWarp * kWarp;
  }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    if (block.index() < row_count) fetch(block, block.index());
    for (int64_t r = block.index(); r < row_count; r += block.blocks()) {
      const RowTarget<Loss> target = target_of(row.logits, row.rows, row.loss, r);
      Run<float> held[kSoftmaxRuns];
      block.template wait_copies<0>();
      block.meet_warp();
      row.hold(
          block, [&](int b) { return staged(block, b); }, held);
      const float most = row.largest_of(held);
      block.meet_warp();
      if (r + block.blocks() < row_count) fetch(block, r + block.blocks());
      row.finish(block, r, target, most, held);
    }
  }

 private:
  /// A warp's run b of each lane, in shared memory.
  template <class Block>
  ZERO_DEVICE_ONLY static float* stage_of(const Block& block, int b) {
    return block.shared() + kStageBegin +
           (b * kSoftmaxWarps + block.warp()) * StagedRuns::kWarpNumel;
  }

  /// Begins to copy what this warp holds of row r. No lane may still read the row before.
  template <class Block>
  ZERO_DEVICE_ONLY void fetch(const Block& block, int64_t r) const {
    const int own = block.warp() * StagedRuns::kWarpNumel + block.lane() * kPieceNumel;
    const auto* const from = reinterpret_cast<const float*>(row.logits.row(r)) + own;
    // Two lanes further, a piece lies 16 places further: one address serves a lane.
    float* const to = block.shared() + kStageBegin + block.warp() * StagedRuns::kWarpNumel +
                      StagedRuns::place(block.lane());
    const int left = int(row.logits.padded_vocabulary) - own;
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
#pragma unroll
      for (int j = 0; j < StagedRuns::kRunPieces; ++j) {
        const int step = b * kThreads * int(kRunNumel) + j * kWarpLanes * kPieceNumel;
        const int place = b * kThreads * int(kRunNumel) + j * kWarpLanes / 2 * kPieceNumel;
        if (step < left) block.copy_async(to + place, from + step, kPieceNumel * sizeof(float));
      }
    }
    block.commit_copies();
  }

  template <class Block>
  ZERO_DEVICE_ONLY static Run<float> staged(const Block& block, int b) {
    struct alignas(16) Piece {
      float at[kPieceNumel];
    };
    const float* const stage = stage_of(block, b);
    Run<float> run;
#pragma unroll
    for (int j = 0; j < StagedRuns::kRunPieces; ++j) {
      const int piece = StagedRuns::kRunPieces * block.lane() + j;
      const Piece read = *reinterpret_cast<const Piece*>(stage + StagedRuns::place(piece));
#pragma unroll
      for (int k = 0; k < kPieceNumel; ++k) run.at[j * kPieceNumel + k] = read.at[k];
    }
    return run;
  }
};

}  // namespace zero::kernels
