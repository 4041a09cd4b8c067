#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/lamb_blocks.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kNorms = "zero::lamb_norms", kApply = "zero::lamb_apply";

using Segments = std::span<const TensorSegment>;

template <bool kRound, class T, class G>
void add_norms(Stream& stream, const OptimizerRule& rule, Segments segments, const StepState* state,
               const OptimizerArrays<T, G>& arrays, TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_row(stream, kNorms, SegmentBlocks{segment.begin, segment.end}.count(),
                 NormsOfBlock<T, G, kRound>{rule.settings, segment, state, arrays, norms});
  }
}

}  // namespace

template <class T, class G>
void lamb_norms(Stream& stream, const OptimizerRule& rule, Segments segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays, int64_t unit_begin,
                TensorNorms* norms) {
  ZERO_REQUIRE(unit_begin % kBlockNumel == 0, "slice begins at element ", unit_begin,
               " of its unit: must be a multiple of ", kBlockNumel);
  if (stream.is_of_host()) {
    stream.wait();
    return host_lamb_norms(stream.threads(), rule, segments, state, arrays, norms);
  }
  if (rounds_gradient<T, G>(rule)) {
    add_norms<true>(stream, rule, segments, state, arrays, norms);
  } else {
    add_norms<false>(stream, rule, segments, state, arrays, norms);
  }
}

template <class T, class G>
void lamb_apply(Stream& stream, const OptimizerRule& rule, Segments segments,
                const StepState* state, const OptimizerArrays<T, G>& arrays,
                const TensorNorms* norms) {
  if (stream.is_of_host()) {
    stream.wait();
    return host_lamb_apply(stream.threads(), rule, segments, state, arrays, norms);
  }
  for (const TensorSegment& segment : segments) {
    for_each_row(stream, kApply, SegmentBlocks{segment.begin, segment.end}.count(),
                 ApplyToBlock<T, G>{rule.settings, segment, state, arrays, norms});
  }
}

template void lamb_norms(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<float, float>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, float>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, f16>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, float>&, int64_t, TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<float, float>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<bf16, float>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, f16>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, Segments, const StepState*,
                         const OptimizerArrays<f16, float>&, const TensorNorms*);

}  // namespace zero::kernels
