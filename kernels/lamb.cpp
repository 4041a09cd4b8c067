#include <cmath>

#include "kernels/support/adam_step.hpp"
#include "kernels/support/master.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kNorms = "zero::lamb_norms", kApply = "zero::lamb_apply";

using Segments = std::span<const LambSegment>;

/// The part of a segment in one 2048-element block of the slice; slices begin at multiples of
/// 2048, so it is also the tensor's part in one block of the unit.
struct SegmentBlocks {
  int64_t begin;
  int64_t end;

  KOKKOS_FUNCTION int64_t first() const { return begin / kBlockNumel; }
  KOKKOS_FUNCTION int64_t count() const {
    return end > begin ? ceil_div(end, kBlockNumel) - first() : 0;
  }
  KOKKOS_FUNCTION Interval operator[](int64_t block) const {
    const int64_t start = (first() + block) * kBlockNumel;
    return {Kokkos::max(begin, start), least(end, start + kBlockNumel)};
  }
};

/// A slice moved to where one block begins.
template <class T, class G>
KOKKOS_INLINE_FUNCTION OptimizerArrays<T, G> moved(const OptimizerArrays<T, G>& a, int64_t by) {
  return {.weight = a.weight + by,
          .rest = a.rest == nullptr ? nullptr : a.rest + by,
          .momentum = a.momentum + by,
          .variance = a.variance + by,
          .grad = a.grad + by};
}

/// u = m unbias1 / (sqrt(v) / unbias2_sqrt + epsilon) + decay master, of the updated moments.
template <class T, class G>
KOKKOS_INLINE_FUNCTION float update_at(const OptimizerArrays<T, G>& a, const AdamStep& step,
                                       float weight_decay, int64_t i) {
  return std::fma(weight_decay, load_master(a.weight, a.rest, i),
                  step.direction(a.momentum[i], a.variance[i]));
}

/// A block with an infinity or a NaN has no squares to add; its elements stay what they are.
KOKKOS_INLINE_FUNCTION void add_if_finite(ExactSum& norm, double squares) {
  if (squares <= 0x1.fffffffffffffp+1023) add_atomically(norm, squares);
}

template <class T, class G, bool kRound>
struct Norms {
  AdamRule rule;
  LambSegment segment;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  LambNorms* norms;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t block) const {
    if (state->apply == 0) return;
    const AdamStep step(rule, *state);
    const Interval range = SegmentBlocks{segment.begin, segment.end}[block];
    const int64_t count = range.end - range.begin;
    const OptimizerArrays<T, G> a = moved(arrays, range.begin);
    row.for_each(count, [=](int64_t i) {
      const float g = gradient_at<T, kRound>(a.grad, i, step);
      a.momentum[i] = step.momentum(a.momentum[i], g);
      a.variance[i] = step.variance(a.variance[i], g);
    });
    row.barrier();
    const float decay = segment.weight_decay;
    const double weight = row.template sum<double>(count, [=](int64_t i) {
      const double w = load_master(a.weight, a.rest, i);
      return w * w;
    });
    const double update = row.template sum<double>(count, [=](int64_t i) {
      const double u = update_at(a, step, decay, i);
      return u * u;
    });
    row.once([&] {
      add_if_finite(norms[segment.tensor].weight, weight);
      add_if_finite(norms[segment.tensor].update, update);
    });
  }
};

KOKKOS_INLINE_FUNCTION float trust_ratio(const LambRule& rule, const LambNorms& norms) {
  const double weight = std::sqrt(norms.weight.value()), update = std::sqrt(norms.update.value());
  if (weight == 0.0 || update == 0.0) return 1.0f;
  return Kokkos::clamp(float(weight / update), rule.min_coefficient, rule.max_coefficient);
}

template <class T, class G>
struct Apply {
  LambRule rule;
  LambSegment segment;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  const LambNorms* norms;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t block) const {
    if (state->apply == 0) return;
    const AdamStep step(rule.adam, *state);
    const Interval range = SegmentBlocks{segment.begin, segment.end}[block];
    const OptimizerArrays<T, G> a = moved(arrays, range.begin);
    const float rate = step.learning_rate * trust_ratio(rule, norms[segment.tensor]);
    const float decay = segment.weight_decay;
    row.for_each(range.end - range.begin, [=](int64_t i) {
      const float w = load_master(a.weight, a.rest, i);
      store_master(std::fma(-rate, update_at(a, step, decay, i), w), a.weight, a.rest, i);
    });
  }
};

template <bool kRound, class T, class G>
void add_norms(Stream& stream, const LambRule& rule, Segments segments, const StepState* state,
               const OptimizerArrays<T, G>& arrays, LambNorms* norms) {
  for (const LambSegment& segment : segments) {
    for_each_row(stream, kNorms, SegmentBlocks{segment.begin, segment.end}.count(),
                 Norms<T, G, kRound>{rule.adam, segment, state, arrays, norms});
  }
}

}  // namespace

template <class T, class G>
void lamb_norms(Stream& stream, const LambRule& rule, Segments segments, const StepState* state,
                const OptimizerArrays<T, G>& arrays, int64_t unit_begin, LambNorms* norms) {
  ZERO_REQUIRE(unit_begin % kBlockNumel == 0, "slice begins at element ", unit_begin,
               " of its unit: must be a multiple of ", kBlockNumel);
  if (rule.adam.round_gradient && !std::is_same_v<T, G>) {
    add_norms<true>(stream, rule, segments, state, arrays, norms);
  } else {
    add_norms<false>(stream, rule, segments, state, arrays, norms);
  }
}

template <class T, class G>
void lamb_apply(Stream& stream, const LambRule& rule, Segments segments, const StepState* state,
                const OptimizerArrays<T, G>& arrays, const LambNorms* norms) {
  for (const LambSegment& segment : segments) {
    for_each_row(stream, kApply, SegmentBlocks{segment.begin, segment.end}.count(),
                 Apply<T, G>{rule, segment, state, arrays, norms});
  }
}

template void lamb_norms(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<float, float>&, int64_t, LambNorms*);
template void lamb_norms(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, int64_t, LambNorms*);
template void lamb_norms(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, float>&, int64_t, LambNorms*);
template void lamb_norms(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, f16>&, int64_t, LambNorms*);
template void lamb_norms(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, float>&, int64_t, LambNorms*);
template void lamb_apply(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<float, float>&, const LambNorms*);
template void lamb_apply(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, const LambNorms*);
template void lamb_apply(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, float>&, const LambNorms*);
template void lamb_apply(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, f16>&, const LambNorms*);
template void lamb_apply(Stream&, const LambRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, float>&, const LambNorms*);

}  // namespace zero::kernels
