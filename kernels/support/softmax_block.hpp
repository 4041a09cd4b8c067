#pragma once
/// Softmax cross-entropy as a GPU computes it where a block's registers hold a row of logits: each
/// is read once. A template over a thread of a block, so that the host runs it in tests.

#include <cfloat>

#include "kernels/support/row_loss.hpp"
#include "kernels/support/warp_runs.hpp"

namespace zero::kernels {

/// With 12 warps a block that has a multiprocessor to itself leaves 168 registers to a thread.
inline constexpr int kSoftmaxWarps = 12;
/// Runs of eight logits that a thread holds, in 136 registers: enough for a row of 50304.
inline constexpr int kSoftmaxRuns = 17;
inline constexpr int64_t kMostHeldLogits = kSoftmaxWarps * kWarpLanes * kSoftmaxRuns * kRunNumel;
/// Eight teams a multiprocessor find rows of no more in the cache when they read them again, and
/// compute while others wait for memory, as a block that is alone cannot.
inline constexpr int64_t kLeastHeldLogits = 8192;

/// Whether SoftmaxBlock takes the rows of `logits`, and is likely to be faster than teams.
inline bool holds_rows(const Logits& logits) {
  return logits.padded_vocabulary >= kLeastHeldLogits &&
         logits.padded_vocabulary <= kMostHeldLogits && logits.padded_vocabulary % kRunNumel == 0 &&
         takes_runs(reinterpret_cast<const float*>(logits.memory));
}

/// Block r has row r. The exponentials are the host's to the bit; their sum is added along the runs
/// of a thread, then a warp, then the block.
template <class T, class Loss = PlainLoss>
struct SoftmaxBlock {
  static constexpr int kThreads = kSoftmaxWarps * kWarpLanes;
  static constexpr int64_t kSharedNumel = (Loss::kOptions ? 3 : 2) * kSoftmaxWarps;
  Logits logits;
  LossRows rows;
  bool gradient;
  Loss loss = {};

  template <class Block>
  ZERO_DEVICE_ONLY void operator()(const Block& block) const {
    const int64_t r = block.index();
    const RowTarget<Loss> target = target_of(logits, rows, loss, r);
    Run<float> held[kSoftmaxRuns];
    load(block, r, held);
    const RowSoftmax softmax = exponentials(block, held);
    if (block.thread() == 0) rows.losses[r] = target.value(softmax);
    if (gradient) write(block, r, gradient_of(logits, rows, target, softmax), held);
  }

 private:
  /// The first logit of a run, or its element of the gradient.
  template <class Block>
  ZERO_DEVICE_ONLY static int first_of(const Block& block, int run) {
    return (run * kThreads + block.thread()) * int(kRunNumel);
  }

  /// What is no class counts as minus infinity.
  template <class Block>
  ZERO_DEVICE_ONLY void load(const Block& block, int64_t r, Run<float>* held) const {
    const auto* const x = reinterpret_cast<const float*>(logits.row(r));
    const int classes = int(logits.vocabulary);
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
      const int first = first_of(block, b);
      if (first + int(kRunNumel) <= classes) {
        held[b] = run_at(x, first);
#pragma unroll
        for (int k = 0; k < kRunNumel; ++k) held[b].at[k] = loss.logit(held[b].at[k], first + k);
      } else {
#pragma unroll
        for (int k = 0; k < kRunNumel; ++k)
          held[b].at[k] = first + k < classes ? loss.logit(x[first + k], first + k) : -INFINITY;
      }
    }
  }

  /// Leaves the exponentials in place of the logits. The block has read the row when this returns.
  template <class Block>
  ZERO_DEVICE_ONLY RowSoftmax exponentials(const Block& block, Run<float>* held) const {
    float* const shared = block.shared();
    float most = -FLT_MAX;  // beside which a logit of minus infinity vanishes
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) most = most < held[b].at[k] ? held[b].at[k] : most;
    }
    most = warp_maximum(block, most);
    if (block.lane() == 0) shared[block.warp()] = most;
    block.sync();
    for (int w = 0; w < kSoftmaxWarps; ++w) most = most < shared[w] ? shared[w] : most;
    const float below = Loss::kOptions ? sum_below(block, most, held) : 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
      if (first_of(block, b) >= logits.vocabulary) continue;
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) {
        held[b].at[k] = exp_f32(held[b].at[k] - most);
        sum += held[b].at[k];
      }
    }
    sum = warp_sum(block, sum);
    if (block.lane() == 0) shared[kSoftmaxWarps + block.warp()] = sum;
    block.sync();
    float total = 0.0f;
    for (int w = 0; w < kSoftmaxWarps; ++w) total += shared[kSoftmaxWarps + w];
    return {most, total, below};
  }

  /// The sum of most - logit over the classes.
  template <class Block>
  ZERO_DEVICE_ONLY float sum_below(const Block& block, float most, const Run<float>* held) const {
    float* const shared = block.shared() + 2 * kSoftmaxWarps;
    const int classes = int(logits.vocabulary);
    float below = 0.0f;
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k)
        below += first_of(block, b) + k < classes ? most - held[b].at[k] : 0.0f;
    }
    below = warp_sum(block, below);
    if (block.lane() == 0) shared[block.warp()] = below;
    block.sync();
    float total = 0.0f;
    for (int w = 0; w < kSoftmaxWarps; ++w) total += shared[w];
    return total;
  }

  template <class Block>
  ZERO_DEVICE_ONLY void write(const Block& block, int64_t r, const RowGradient<Loss>& numbers,
                              const Run<float>* held) const {
    auto* const to = reinterpret_cast<T*>(logits.row(r));
    const int columns = int(numbers.padded_vocabulary);
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
      const int first = first_of(block, b);
      if (first >= columns) continue;
      Run<T> run;
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) run.at[k] = T(numbers(first + k, held[b].at[k]));
      set_run(to, first, run);
    }
    block.sync();
    if (block.thread() == 0 && numbers.target >= 0) to[numbers.target] = T(numbers.at_target);
  }
};

}  // namespace zero::kernels
