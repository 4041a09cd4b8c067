#include "kernels/support/adam_step.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/master.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::adam";

/// One segment's update, element by element.
template <class T, class G, bool kRound>
struct Update {
  AdamRule rule;
  float weight_decay;
  const StepState* state;
  OptimizerArrays<T, G> arrays;

  KOKKOS_FUNCTION void operator()(int64_t first, int64_t last) const {
    if (state->apply == 0) return;
    const AdamStep step(rule, *state);
    const OptimizerArrays<T, G> a = arrays;
    // One of the two forms of decay is the identity.
    const float keep = rule.decoupled ? std::fma(-step.learning_rate, weight_decay, 1.0f) : 1.0f;
    const float l2 = rule.decoupled ? 0.0f : weight_decay;
#pragma GCC ivdep
    for (int64_t i = first; i < last; ++i) {
      const float w = load_master(a.weight, a.rest, i);
      const float g = std::fma(l2, w, gradient_at<T, kRound>(a.grad, i, step));
      const float m = step.momentum(a.momentum[i], g);
      const float v = step.variance(a.variance[i], g);
      a.momentum[i] = m;
      a.variance[i] = v;
      store_master(std::fma(-step.learning_rate, step.direction(m, v), w * keep), a.weight, a.rest,
                   i);
    }
  }
};

template <bool kRound, class T, class G>
void update(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    for_each_block(stream, kLabel, {segment.begin, segment.end},
                   Update<T, G, kRound>{rule, segment.weight_decay, state, arrays});
  }
}

}  // namespace

template <class T, class G>
void adam(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
          const StepState* state, const OptimizerArrays<T, G>& arrays) {
  // A gradient that is a T already rounds to itself.
  if (rule.round_gradient && !std::is_same_v<T, G>) {
    update<true>(stream, rule, segments, state, arrays);
  } else {
    update<false>(stream, rule, segments, state, arrays);
  }
}

using Segments = std::span<const OptimizerSegment>;
template void adam(Stream&, const AdamRule&, Segments, const StepState*,
                   const OptimizerArrays<float, float>&);
template void adam(Stream&, const AdamRule&, Segments, const StepState*,
                   const OptimizerArrays<bf16, bf16>&);
template void adam(Stream&, const AdamRule&, Segments, const StepState*,
                   const OptimizerArrays<bf16, float>&);
template void adam(Stream&, const AdamRule&, Segments, const StepState*,
                   const OptimizerArrays<f16, f16>&);
template void adam(Stream&, const AdamRule&, Segments, const StepState*,
                   const OptimizerArrays<f16, float>&);

}  // namespace zero::kernels
