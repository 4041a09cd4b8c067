#pragma once
/// The loss and gradient of a row of logits, from its target and softmax. SoftmaxBlock is softmax
/// cross-entropy on a GPU whose blocks hold a row of logits in registers and read it once. A
/// template over a block's thread, so the host can test it.

#include <cfloat>
#include <cmath>
#include <cstddef>

#include "kernels/support/math.hpp"
#include "kernels/support/tanh.hpp"
#include "kernels/support/warp_runs.hpp"
#include "zero/base/portable.hpp"
#include "zero/kernels/classifier.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

/// A chunk of logits, [rows, padded_vocabulary] in fp32. Their gradient in T takes the front of
/// each row's bytes.
struct Logits {
  std::byte* memory;
  int64_t vocabulary, padded_vocabulary;

  ZERO_HOST_DEVICE std::byte* row(int64_t r) const {
    return memory + r * padded_vocabulary * int64_t(sizeof(float));
  }
};

/// A loss whose logits are the products.
struct PlainLoss {
  static constexpr bool kOptions = false, kCapped = false;

  ZERO_HOST_DEVICE float logit(float product, int64_t) const { return product; }
};

/// A loss with a scale, a bias and label smoothing.
template <class T>
struct LossWithOptions {
  static constexpr bool kOptions = true, kCapped = false;
  float scale, label_smoothing;
  const T* bias;  ///< [padded_vocabulary], or null

  ZERO_HOST_DEVICE float logit(float product, int64_t j) const {
    return std::fma(scale, product, bias == nullptr ? 0.0f : float(bias[j]));
  }
};

/// A loss with options whose logits z are limited to cap tanh(z / cap).
template <class T>
struct CappedLoss : LossWithOptions<T> {
  static constexpr bool kCapped = true;
  float cap;

  ZERO_HOST_DEVICE float logit(float product, int64_t j) const {
    return cap * tanh_f32(LossWithOptions<T>::logit(product, j) / cap);
  }
  /// Returns the derivative of a capped logit by the other.
  ZERO_HOST_DEVICE float slope(float capped) const {
    const float share = capped / cap;
    return std::fma(-share, share, 1.0f);
  }
};

/// The largest logit of a row, and the sum of e^(logit - most).
struct RowSoftmax {
  float most, sum;
  float below = 0.0f;  ///< with options: sum of most - logit
};

struct LossRows {
  const int32_t* targets;
  double* losses;
  const StepInputs* inputs;
  const StepState* state;
  TokenScore* scores = nullptr;  ///< null: not wanted

  /// Writes the loss of row r, and its score.
  template <class Target>
  ZERO_HOST_DEVICE void put(int64_t r, const Target& target, const RowSoftmax& softmax) const {
    const double loss = target.value(softmax);
    losses[r] = loss;
    if (scores != nullptr)
      scores[r] = {float(0.0 - loss), target.is_largest(softmax) ? 1.0f : 0.0f};
  }
};

/// The factors that turn a row's exponentials into its gradient.
template <class Loss>
struct RowGradient {
  int64_t vocabulary, padded_vocabulary;
  float factor;     ///< loss scale / (counted tokens * sum of exponentials)
  bool counted;     ///< false: the gradient is zero, whatever the logits are
  int64_t target;   ///< target class; -1: none
  float at_target;  ///< gradient at the target
  float spread;     ///< with options: amount that label smoothing takes from every class

  ZERO_HOST_DEVICE float operator()(int64_t j, float exponential) const {
    return counted && j < vocabulary ? of_class(exponential) : 0.0f;
  }
  /// Returns the gradient of a class. REQUIRES: the row counts.
  ZERO_HOST_DEVICE float of_class(float exponential) const {
    if constexpr (Loss::kOptions)
      return std::fma(exponential, factor, -spread);
    else
      return exponential * factor;
  }
};

/// The target of a row, which turns its softmax into a loss.
template <class Loss>
struct RowTarget {
  Loss loss;
  int32_t target;
  bool known;     ///< true: the target is a real class
  float logit;    ///< logit of the target
  int64_t count;  ///< number of real classes

  /// Returns the loss of the row; not finite for a target that is no real class.
  ZERO_HOST_DEVICE double value(const RowSoftmax& softmax) const {
    double below = known ? double(softmax.most) - double(logit) : double(NAN);
    if constexpr (Loss::kOptions) {
      const double share = double(loss.label_smoothing);
      below = (1.0 - share) * below + share * (double(softmax.below) / double(count));
    }
    return target == -1 ? 0.0 : below + double(log_f32(softmax.sum));
  }
  ZERO_HOST_DEVICE bool is_largest(const RowSoftmax& softmax) const {
    return known && logit >= softmax.most;
  }
};

/// Returns the target of row r. REQUIRES: no gradient overwrites the row's logits yet.
template <class Loss>
ZERO_HOST_DEVICE inline RowTarget<Loss> target_of(const Logits& logits, const LossRows& rows,
                                                  const Loss& loss, int64_t r) {
  const int32_t target = rows.targets[r];
  const bool known = target >= 0 && target < logits.vocabulary;
  const auto* const x = reinterpret_cast<const float*>(logits.row(r));
  return {loss, target, known, known ? loss.logit(x[target], target) : 0.0f, logits.vocabulary};
}

/// Returns the gradient with respect to the unscaled products, of which logits are a multiple. If
/// logits are capped, that of other classes than the target lacks their slopes.
template <class Loss>
ZERO_HOST_DEVICE inline RowGradient<Loss> gradient_of(const Logits& logits, const LossRows& rows,
                                                      const RowTarget<Loss>& target,
                                                      const RowSoftmax& softmax) {
  float scale = float(double(rows.state->loss_scale) / double(rows.inputs->counted_tokens));
  const float probability = exp_f32(target.logit - softmax.most) / softmax.sum;
  float own_share = 1.0f, spread = 0.0f;
  if constexpr (Loss::kOptions) {
    const float smoothing = target.loss.label_smoothing;
    const float each = smoothing / float(logits.vocabulary);
    scale *= target.loss.scale;
    own_share = 1.0f - smoothing + each;
    spread = each * scale;
  }
  float at_target = (probability - own_share) * scale;
  if constexpr (Loss::kCapped) at_target *= target.loss.slope(target.logit);
  return {.vocabulary = logits.vocabulary,
          .padded_vocabulary = logits.padded_vocabulary,
          .factor = scale / softmax.sum,
          .counted = target.target != -1,
          .target = target.known ? target.target : -1,
          .at_target = at_target,
          .spread = spread};
}

/// Warps of a block. A block of 12 that has a multiprocessor to itself leaves 168 registers a
/// thread.
inline constexpr int kSoftmaxWarps = 12;
/// Runs of eight logits that a thread holds, in 136 registers; enough for a row of 50304.
inline constexpr int kSoftmaxRuns = 17;
inline constexpr int64_t kMostHeldLogits = kSoftmaxWarps * kWarpLanes * kSoftmaxRuns * kRunNumel;
/// The shortest rows to hold. Eight teams a multiprocessor find shorter ones in the cache when they
/// read again, and compute while others wait for memory.
inline constexpr int64_t kLeastHeldLogits = 8192;

/// True if SoftmaxBlock takes the rows of `logits` and is likely faster than teams.
inline bool holds_rows(const Logits& logits) {
  return logits.padded_vocabulary >= kLeastHeldLogits &&
         logits.padded_vocabulary <= kMostHeldLogits && logits.padded_vocabulary % kRunNumel == 0 &&
         takes_runs(reinterpret_cast<const float*>(logits.memory));
}

/// Softmax cross-entropy of row r in the registers of block r. The exponentials have the host's
/// bits. Their sum runs along the runs of a thread, then a warp, then the block.
template <class T, class Loss = PlainLoss>
struct SoftmaxBlock {
  static constexpr int kThreads = kSoftmaxWarps * kWarpLanes;
  /// Floats that the threads of a block share.
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
    if (block.thread() == 0) rows.put(r, target, softmax);
    if (gradient) write(block, r, gradient_of(logits, rows, target, softmax), held);
  }

 private:
  /// Returns the index of a run's first logit, and of its gradient.
  template <class Block>
  ZERO_DEVICE_ONLY static int first_of(const Block& block, int run) {
    return (run * kThreads + block.thread()) * int(kRunNumel);
  }

  /// Loads a row; columns that are no class become minus infinity.
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

  /// Replaces the logits by their exponentials. On return the block has read the row.
  template <class Block>
  ZERO_DEVICE_ONLY RowSoftmax exponentials(const Block& block, Run<float>* held) const {
    float* const shared = block.shared();
    float most = -FLT_MAX;  // a logit of minus infinity vanishes beside it
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) most = std::fmax(most, held[b].at[k]);
    }
    most = warp_maximum(block, most);
    if (block.lane() == 0) shared[block.warp()] = most;
    block.sync();
    for (int w = 0; w < kSoftmaxWarps; ++w) most = most < shared[w] ? shared[w] : most;
    const float below = Loss::kOptions ? sum_below(block, most, held) : 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
      if (first_of(block, b) < logits.vocabulary) sum = add_exponentials(most, sum, held[b]);
    }
    sum = warp_sum(block, sum);
    if (block.lane() == 0) shared[kSoftmaxWarps + block.warp()] = sum;
    block.sync();
    float total = 0.0f;
    for (int w = 0; w < kSoftmaxWarps; ++w) total += shared[kSoftmaxWarps + w];
    return {most, total, below};
  }

  /// Replaces a run by its exponentials, and returns `sum` plus theirs. Runs with NaN or far below
  /// the maximum are rare.
  ZERO_DEVICE_ONLY static float add_exponentials(float most, float sum, Run<float>& run) {
    bool near = true;
#pragma unroll
    for (int k = 0; k < kRunNumel; ++k) {
      run.at[k] -= most;
      near = near && run.at[k] >= kLeastNear;
    }
    if (near) [[likely]] {
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) run.at[k] = exp_near_f32(run.at[k]);
    } else {
#pragma unroll
      for (int k = 0; k < kRunNumel; ++k) run.at[k] = exp_f32(run.at[k]);
    }
#pragma unroll
    for (int k = 0; k < kRunNumel; ++k) sum += run.at[k];
    return sum;
  }

  /// Returns the sum of most - logit over the classes.
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
    const int columns = int(numbers.padded_vocabulary), classes = int(numbers.vocabulary);
#pragma unroll
    for (int b = 0; b < kSoftmaxRuns; ++b) {
      const int first = first_of(block, b);
      if (first >= columns) continue;
      Run<T> run;
      if (numbers.counted && first + int(kRunNumel) <= classes) {
#pragma unroll
        for (int k = 0; k < kRunNumel; ++k) run.at[k] = T(numbers.of_class(held[b].at[k]));
      } else {
#pragma unroll
        for (int k = 0; k < kRunNumel; ++k) run.at[k] = T(numbers(first + k, held[b].at[k]));
      }
      set_run(to, first, run);
    }
    // The thread that has written the target's run writes there again.
    const int64_t own = numbers.target / kRunNumel % kThreads;
    if (numbers.target >= 0 && block.thread() == own) to[numbers.target] = T(numbers.at_target);
  }
};

}  // namespace zero::kernels
