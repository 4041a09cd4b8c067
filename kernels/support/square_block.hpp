#pragma once
/// Squares of gradients as a GPU adds them: a warp has a few blocks of 2048 elements and reads 16
/// bytes a lane. Templates over a block's thread, so the host can test them.

#include "kernels/support/row_chunks.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// A thread's pending part of an exact sum, kept while its digits stay the same. Otherwise threads
/// of the whole device would queue for the same few words.
template <class Block>
class PendingSum {
 public:
  ZERO_DEVICE_ONLY PendingSum(const Block& block, ExactSum& sum) : block_(block), sum_(sum) {}

  ZERO_DEVICE_ONLY void add(double finite) {
    const ExactSum::Digits more = ExactSum::digits_of(finite);
    if (more.first != own_.first) flush();
    own_.first = more.first;
    for (int i = 0; i < 3; ++i) own_.part[i] += more.part[i];
  }
  ZERO_DEVICE_ONLY void flush() {
    for (int i = 0; i < 3; ++i) {
      if (own_.part[i] != 0) block_.add(sum_.limb[own_.first + i], own_.part[i]);
      own_.part[i] = 0;
    }
  }

 private:
  const Block& block_;
  ExactSum& sum_;
  ExactSum::Digits own_{};
};

inline constexpr int kSquareWarps = 4;
/// Blocks that one warp adds up.
inline constexpr int64_t kSquareBlocks = 8;

/// The squares of `grad`, rounded to T first if kRound. kWhole: see RunsOfRow.
template <class T, class G, bool kRound, bool kWhole>
struct SquareBlock {
  int64_t numel;
  const G* grad;
  StepSums* sums;

  int64_t blocks() const { return ceil_div(numel, kSquareWarps * kSquareBlocks * kBlockNumel); }

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t warp = block.index() * kSquareWarps + block.warp();
    const int64_t begin = warp * kSquareBlocks * kBlockNumel;
    const int64_t end = least(begin + kSquareBlocks * kBlockNumel, numel);
    PendingSum<Block> squares(block, sums->grad_squares);
    for (int64_t first = begin; first < end; first += kBlockNumel) {
      const double sum = block_sum(block, first, least(kBlockNumel, end - first));
      if (block.lane() != 0) continue;
      // Squares of fp32 numbers stay far below fp64's largest, so the sum is non-finite only if an
      // element is.
      if (sum <= kLargest) {
        squares.add(sum);
      } else {
        block.add(sums->nonfinite, int64_t(1));
      }
    }
    squares.flush();
  }

 private:
  static constexpr double kLargest = 0x1.fffffffffffffp+1023;
  static constexpr int kAtOnce = sizeof(G) == 2 ? 8 : 4;

  template <class Block>
  ZERO_DEVICE_ONLY double block_sum(const Block& block, int64_t first, int64_t count) const {
    constexpr int64_t kStep = kWarpLanes * kRunNumel;
    const RunsOfRow<const G, kWhole> block_of{grad + first, count};
    double total = 0.0;
    for (int64_t j = block.lane() * kRunNumel; j < count; j += kAtOnce * kStep) {
      Run<G> run[kAtOnce];
      for (int b = 0; b < kAtOnce; ++b) run[b] = block_of.load(j + b * kStep);
      for (int b = 0; b < kAtOnce; ++b) total += squares_of(run[b]);
    }
    return warp_sum(block, total);
  }

  ZERO_DEVICE_ONLY static double squares_of(const Run<G>& run) {
    double total = 0.0;
    for (int k = 0; k < kRunNumel; ++k) {
      const double value = kRound ? float(T(float(run.at[k]))) : float(run.at[k]);
      total += value * value;
    }
    return total;
  }
};

}  // namespace zero::kernels
