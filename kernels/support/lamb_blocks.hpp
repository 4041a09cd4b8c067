#pragma once
/// LAMB's two halves on one block of a tensor's segment, for a row of the host or the device.

#include <cmath>
#include <cstdint>

#include "kernels/support/element_update.hpp"
#include "kernels/support/optimizers.hpp"
#include "zero/base/align.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {

struct BlockRange {
  int64_t begin;
  int64_t end;
};

/// The parts of a segment in 2048-element blocks of the slice. Slices begin at multiples of 2048,
/// so these are also parts of blocks of the unit.
struct SegmentBlocks {
  int64_t begin;
  int64_t end;

  ZERO_HOST_DEVICE int64_t first() const { return begin / kBlockNumel; }
  ZERO_HOST_DEVICE int64_t count() const {
    return end > begin ? ceil_div(end, kBlockNumel) - first() : 0;
  }
  ZERO_HOST_DEVICE BlockRange operator[](int64_t block) const {
    const int64_t start = (first() + block) * kBlockNumel, stop = start + kBlockNumel;
    return {begin > start ? begin : start, end < stop ? end : stop};
  }
};

/// Calls f(first, count) for the part of each row of a tensor in a block, counted from the block's
/// begin. A tensor that stands alone has one row.
template <class F>
ZERO_HOST_DEVICE void for_each_stretch(const TensorSegment& segment, const BlockRange& range,
                                       int32_t tensor, const F& f) {
  const int64_t columns = segment.ends[segment.tensors - 1];
  const int64_t before = tensor == 0 ? 0 : segment.ends[tensor - 1];
  const int64_t width = segment.ends[tensor] - before;
  const int64_t begin = segment.offset + range.begin - segment.begin;
  const int64_t end = begin + range.end - range.begin;
  for (int64_t row = begin / columns; row * columns < end; ++row) {
    const int64_t left = row * columns + before, right = left + width;
    const int64_t first = left < begin ? begin : left, last = right < end ? right : end;
    if (first < last) f(first - begin, last - first);
  }
}

/// Returns a slice's arrays, moved on by `by` elements.
template <class T, class G>
ZERO_HOST_DEVICE OptimizerArrays<T, G> moved(const OptimizerArrays<T, G>& a, int64_t by) {
  return {.weight = a.weight + by,
          .low = a.low == nullptr ? nullptr : a.low + by,
          .states = {a.states[kMomentum] + by, a.states[kVariance] + by},
          .grad = a.grad + by};
}

/// Returns u = m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon) + decay master, of the updated
/// moments.
template <class T, class G>
ZERO_HOST_DEVICE float update_at(const OptimizerArrays<T, G>& a, const AdamStep& step,
                                 float weight_decay, int64_t i) {
  return std::fma(weight_decay, load_master(a.weight, a.low, i),
                  step.direction(a.states[kMomentum][i], a.states[kVariance][i]));
}

template <class T, class G, bool kRound>
struct NormsOfBlock {
  OptimizerConfig settings;
  TensorSegment segment;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  TensorNorms* norms;

  template <class Row>
  ZERO_HOST_DEVICE void operator()(const Row& row, int64_t block) const {
    if (state->apply == 0) return;
    const AdamStep step(settings, *state);
    const BlockRange range = SegmentBlocks{segment.begin, segment.end}[block];
    const int64_t count = range.end - range.begin;
    const OptimizerArrays<T, G> a = moved(arrays, range.begin);
    row.for_each(count, [=](int64_t i) {
      const float g = gradient_at<T, kRound>(a.grad, i, step.grad_multiplier);
      float &m = a.states[kMomentum][i], &v = a.states[kVariance][i];
      m = step.momentum(m, g);
      v = step.variance(v, g);
    });
    row.barrier();
    for (int32_t tensor = 0; tensor < segment.tensors; ++tensor) {
      add_squares(row, a, step, range, tensor);
    }
  }

 private:
  template <class Row>
  ZERO_HOST_DEVICE void add_squares(const Row& row, const OptimizerArrays<T, G>& a,
                                    const AdamStep& step, const BlockRange& range,
                                    int32_t tensor) const {
    const float decay = segment.weight_decay;
    double weight = 0, update = 0;
    for_each_stretch(segment, range, tensor, [&](int64_t first, int64_t count) {
      const OptimizerArrays<T, G> part = moved(a, first);
      weight += row.template sum_as_host<double>(count, [=](int64_t i) {
        const double w = load_master(part.weight, part.low, i);
        return w * w;
      });
      update += row.template sum_as_host<double>(count, [=](int64_t i) {
        const double u = update_at(part, step, decay, i);
        return u * u;
      });
    });
    row.once([&] {
      add_if_finite<Row>(norms[segment.tensor + tensor].weight, weight);
      add_if_finite<Row>(norms[segment.tensor + tensor].update, update);
    });
  }

  /// Adds the squares of a block, unless an infinity or NaN is among them; the elements stay as
  /// they are.
  template <class Row>
  ZERO_HOST_DEVICE static void add_if_finite(ExactSum& norm, double squares) {
    if (squares <= 0x1.fffffffffffffp+1023) Row::add(norm, squares);
  }
};

ZERO_HOST_DEVICE inline float trust_ratio(const OptimizerConfig& settings,
                                          const TensorNorms& norms) {
  const double weight = std::sqrt(norms.weight.value()), update = std::sqrt(norms.update.value());
  if (weight == 0.0 || update == 0.0) return 1.0f;
  const float ratio = float(weight / update);
  const float least = float(settings.min_coeff), most = float(settings.max_coeff);
  if (ratio < least) return least;
  return most < ratio ? most : ratio;
}

template <class T, class G>
struct ApplyToBlock {
  OptimizerConfig settings;
  TensorSegment segment;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  const TensorNorms* norms;

  template <class Row>
  ZERO_HOST_DEVICE void operator()(const Row& row, int64_t block) const {
    if (state->apply == 0) return;
    const AdamStep step(settings, *state);
    const BlockRange range = SegmentBlocks{segment.begin, segment.end}[block];
    for (int32_t tensor = 0; tensor < segment.tensors; ++tensor) {
      apply(row, moved(arrays, range.begin), step, range, tensor);
    }
  }

 private:
  /// Applies the update. Computes the tensor's rate once, as its norms have more words than most
  /// stretches.
  template <class Row>
  ZERO_HOST_DEVICE void apply(const Row& row, const OptimizerArrays<T, G>& a, const AdamStep& step,
                              const BlockRange& range, int32_t tensor) const {
    const float decay = segment.weight_decay;
    float rate = 0;
    bool has_rate = false;
    for_each_stretch(segment, range, tensor, [&](int64_t first, int64_t count) {
      if (!has_rate) {
        rate = step.learning_rate * trust_ratio(settings, norms[segment.tensor + tensor]);
        has_rate = true;
      }
      const OptimizerArrays<T, G> part = moved(a, first);
      row.for_each(count, [=](int64_t i) {
        const float w = load_master(part.weight, part.low, i);
        store_master(std::fma(-rate, update_at(part, step, decay, i), w), part.weight, part.low, i);
      });
    });
  }
};

}  // namespace zero::kernels
