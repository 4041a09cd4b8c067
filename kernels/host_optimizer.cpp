#include "kernels/support/host_optimizer.hpp"

#include "kernels/support/element_update.hpp"
#include "kernels/support/host_threads.hpp"
#include "kernels/support/lamb_blocks.hpp"
#include "zero/base/align.hpp"

namespace zero::kernels {
namespace {

using Segments = std::span<const OptimizerSegment>;

/// Updates the elements of all segments that lie in [begin, end).
template <class Formula, bool kRound, class T, class G>
void update_piece(int64_t begin, int64_t end, const OptimizerRule& rule, Segments segments,
                  const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    const int64_t first = std::max(segment.begin, begin);
    const int64_t last = std::min(segment.end, end);
    if (first >= last) continue;
    constexpr bool kOnHost = true;
    ElementUpdate<Formula, T, G, kRound, kOnHost>{rule.settings, segment.weight_decay, state,
                                                  arrays}(first, last);
  }
}

/// Calls work(begin, end, update) for every piece of [0, numel), by several threads. update(begin,
/// end) updates the piece.
template <class T, class G, class Work>
void for_each_piece(int threads, int64_t numel, const OptimizerRule& rule, Segments segments,
                    const StepState* state, const OptimizerArrays<T, G>& arrays, const Work& work) {
  with_form_of<T, G>(rule, [&](auto formula, auto rounds) {
    using Formula = typename decltype(formula)::type;
    const auto update = [&](int64_t begin, int64_t end) {
      update_piece<Formula, rounds>(begin, end, rule, segments, state, arrays);
    };
    on_threads(threads, ceil_div(numel, kPieceNumel), [&](int, int64_t i) {
      work(i * kPieceNumel, std::min((i + 1) * kPieceNumel, numel), update);
    });
  });
}

using TensorSegments = std::span<const TensorSegment>;

/// Calls f(row, block) for every block of a segment.
template <class F>
void for_each_block_of(int threads, const TensorSegment& segment, const F& f) {
  const SegmentBlocks blocks{segment.begin, segment.end};
  on_threads(threads, blocks.count(), [&](int, int64_t block) { f(HostRow(), block); });
}

template <bool kRound, class T, class G>
void add_norms(int threads, const OptimizerRule& rule, TensorSegments segments,
               const StepState* state, const OptimizerArrays<T, G>& arrays, TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_block_of(threads, segment,
                      NormsOfBlock<T, G, kRound>{rule.settings, segment, state, arrays, norms});
  }
}

}  // namespace

template <class T, class G>
void host_update(int threads, const OptimizerRule& rule, Segments segments, const StepState* state,
                 const OptimizerArrays<T, G>& arrays) {
  int64_t numel = 0;
  for (const OptimizerSegment& segment : segments) numel = std::max(numel, segment.end);
  for_each_piece(threads, numel, rule, segments, state, arrays,
                 [](int64_t begin, int64_t end, const auto& update) { update(begin, end); });
}

template <class T, class G>
void update_in_pieces(Stream& stream, const OptimizerRule& rule, Segments segments,
                      const StepState* state, const OptimizerArrays<T, G>& arrays, int64_t numel,
                      const AroundPieces& around) {
  stream.wait();
  for_each_piece(stream.threads(), numel, rule, segments, state, arrays,
                 [&](int64_t begin, int64_t end, const auto& update) {
                   around.before(begin, end);
                   update(begin, end);
                   around.after(begin, end);
                 });
}

template void host_update(int, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<float, float>&);
template void host_update(int, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<bf16, bf16>&);
template void host_update(int, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<bf16, float>&);
template void host_update(int, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<f16, f16>&);
template void host_update(int, const OptimizerRule&, Segments, const StepState*,
                          const OptimizerArrays<f16, float>&);
template void update_in_pieces(Stream&, const OptimizerRule&, Segments, const StepState*,
                               const OptimizerArrays<float, float>&, int64_t, const AroundPieces&);
template void update_in_pieces(Stream&, const OptimizerRule&, Segments, const StepState*,
                               const OptimizerArrays<bf16, bf16>&, int64_t, const AroundPieces&);
template void update_in_pieces(Stream&, const OptimizerRule&, Segments, const StepState*,
                               const OptimizerArrays<bf16, float>&, int64_t, const AroundPieces&);
template void update_in_pieces(Stream&, const OptimizerRule&, Segments, const StepState*,
                               const OptimizerArrays<f16, f16>&, int64_t, const AroundPieces&);
template void update_in_pieces(Stream&, const OptimizerRule&, Segments, const StepState*,
                               const OptimizerArrays<f16, float>&, int64_t, const AroundPieces&);

template <class T, class G>
void host_lamb_norms(int threads, const OptimizerRule& rule, TensorSegments segments,
                     const StepState* state, const OptimizerArrays<T, G>& arrays,
                     TensorNorms* norms) {
  if (rounds_gradient<T, G>(rule)) {
    add_norms<true>(threads, rule, segments, state, arrays, norms);
  } else {
    add_norms<false>(threads, rule, segments, state, arrays, norms);
  }
}

template <class T, class G>
void host_lamb_apply(int threads, const OptimizerRule& rule, TensorSegments segments,
                     const StepState* state, const OptimizerArrays<T, G>& arrays,
                     const TensorNorms* norms) {
  for (const TensorSegment& segment : segments) {
    for_each_block_of(threads, segment,
                      ApplyToBlock<T, G>{rule.settings, segment, state, arrays, norms});
  }
}

template void host_lamb_norms(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<float, float>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<bf16, bf16>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<bf16, float>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<f16, f16>&, TensorNorms*);
template void host_lamb_norms(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<f16, float>&, TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<float, float>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<bf16, bf16>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<bf16, float>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<f16, f16>&, const TensorNorms*);
template void host_lamb_apply(int, const OptimizerRule&, TensorSegments, const StepState*,
                              const OptimizerArrays<f16, float>&, const TensorNorms*);

}  // namespace zero::kernels
