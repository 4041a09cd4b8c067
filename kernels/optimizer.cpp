#include "zero/kernels/optimizer.hpp"

#include "kernels/support/element_update.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/lamb_blocks.hpp"
#include "kernels/support/rows.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

using Segments = std::span<const OptimizerSegment>;

void require_order(std::span<const OptimizerSegment> segments) {
  for (size_t s = 0; s < segments.size(); ++s) {
    const int64_t least = s == 0 ? 0 : segments[s - 1].end;
    ZERO_REQUIRE(segments[s].begin >= least && segments[s].end >= segments[s].begin, "segment ", s,
                 " of an update is [", segments[s].begin, ", ", segments[s].end,
                 "): must begin at ", least, " or behind it and not end before it begins");
  }
}

template <class Formula, bool kRound, class T, class G>
void update_by(Stream& stream, const OptimizerRule& rule,
               std::span<const OptimizerSegment> segments, const StepState* state,
               const OptimizerArrays<T, G>& arrays) {
  static const std::string label = Formula::kLabel;
  if constexpr (kHostSpace) {
    for (const OptimizerSegment& segment : segments) {
      for_each_block(stream, label, {segment.begin, segment.end},
                     ElementUpdate<Formula, T, G, kRound, kHostSpace>{
                         rule.settings, segment.weight_decay, state, arrays});
    }
  } else {
    for_each_table(segments, [&](int64_t begin, int64_t end, const SegmentTable& table) {
      for_each_piece<kRunNumel>(
          stream, label, {begin / kRunNumel * kRunNumel, end},
          ElementRun<Formula, T, G, kRound>{rule.settings, state, arrays, table,
                                            takes_runs<Formula::kStates>(arrays)});
    });
  }
}

const std::string kNorms = "zero::lamb_norms", kApply = "zero::lamb_apply";

using TensorSegments = std::span<const TensorSegment>;

template <bool kRound, class T, class G>
void add_norms(Stream& stream, const OptimizerRule& rule, TensorSegments segments,
               const StepState* state, const OptimizerArrays<T, G>& arrays, TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_row(stream, kNorms, SegmentBlocks{segment.begin, segment.end}.count(),
                 NormsOfBlock<T, G, kRound>{rule.settings, segment, state, arrays, norms});
  }
}

}  // namespace

template <class T, class G>
void update(Stream& stream, const OptimizerRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays) {
  require_order(segments);
  if (stream.is_of_host()) {
    stream.wait();
    return host_update(stream.threads(), rule, segments, state, arrays);
  }
  with_form_of<T, G>(rule, [&](auto formula, auto rounds) {
    using Formula = typename decltype(formula)::type;
    update_by<Formula, rounds>(stream, rule, segments, state, arrays);
  });
}

template void update(Stream&, const OptimizerRule&, Segments, const StepState*,
                     const OptimizerArrays<float, float>&);
template void update(Stream&, const OptimizerRule&, Segments, const StepState*,
                     const OptimizerArrays<bf16, bf16>&);
template void update(Stream&, const OptimizerRule&, Segments, const StepState*,
                     const OptimizerArrays<bf16, float>&);
template void update(Stream&, const OptimizerRule&, Segments, const StepState*,
                     const OptimizerArrays<f16, f16>&);
template void update(Stream&, const OptimizerRule&, Segments, const StepState*,
                     const OptimizerArrays<f16, float>&);

template <class T, class G>
void lamb_norms(Stream& stream, const OptimizerRule& rule, TensorSegments segments,
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
void lamb_apply(Stream& stream, const OptimizerRule& rule, TensorSegments segments,
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

template void lamb_norms(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<float, float>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<bf16, float>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<f16, f16>&, int64_t, TensorNorms*);
template void lamb_norms(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<f16, float>&, int64_t, TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<float, float>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<bf16, bf16>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<bf16, float>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<f16, f16>&, const TensorNorms*);
template void lamb_apply(Stream&, const OptimizerRule&, TensorSegments, const StepState*,
                         const OptimizerArrays<f16, float>&, const TensorNorms*);

}  // namespace zero::kernels
