#include "kernels/support/element_update.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/host_team.hpp"
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

/// work(begin, end, update) for every piece of [0, numel), by several threads; update(begin, end)
/// updates it.
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

}  // namespace zero::kernels
