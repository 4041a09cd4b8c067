#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/host_row.hpp"
#include "kernels/support/host_team.hpp"
#include "kernels/support/lamb_blocks.hpp"

namespace zero::kernels {
namespace {

using Segments = std::span<const TensorSegment>;

/// f(row, block) for every block of a segment.
template <class F>
void for_each_block_of(int threads, const TensorSegment& segment, const F& f) {
  const SegmentBlocks blocks{segment.begin, segment.end};
  on_threads(threads, blocks.count(), [&](int, int64_t block) { f(HostRow(), block); });
}

template <bool kRound, class T, class G>
void add_norms(int threads, const OptimizerRule& rule, Segments segments, const StepState* state,
               const OptimizerArrays<T, G>& arrays, TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_block_of(threads, segment,
                      NormsOfBlock<T, G, kRound>{rule.settings, segment, state, arrays, norms});
  }
}

}  // namespace

template <class T, class G>
void host_lamb_norms(int threads, const OptimizerRule& rule, Segments segments,
                     const StepState* state, const OptimizerArrays<T, G>& arrays,
                     TensorNorms* norms) {
  if (rounds_gradient<T, G>(rule)) {
    add_norms<true>(threads, rule, segments, state, arrays, norms);
  } else {
    add_norms<false>(threads, rule, segments, state, arrays, norms);
  }
}

template <class T, class G>
void host_lamb_apply(int threads, const OptimizerRule& rule, Segments segments,
                     const StepState* state, const OptimizerArrays<T, G>& arrays,
                     const TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_block_of(threads, segment,
                      ApplyToBlock<T, G>{rule.settings, segment, state, arrays, norms});
  }
}

template void host_lamb_norms(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<float, float>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<bf16, bf16>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<bf16, float>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<f16, f16>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<f16, float>&, TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<float, float>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<bf16, bf16>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<bf16, float>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<f16, f16>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, Segments, const StepState*,
                              const OptimizerArrays<f16, float>&, const TensorNorms*);

}  // namespace zero::kernels
