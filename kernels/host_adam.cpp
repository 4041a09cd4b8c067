#include "kernels/support/adam_update.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/host_team.hpp"
#include "zero/base/align.hpp"

namespace zero::kernels {
namespace {

using Segments = std::span<const OptimizerSegment>;

/// Adam on the elements of all segments that lie in [begin, end).
template <bool kRound, bool kDecoupled, class T, class G>
void update_piece(int64_t begin, int64_t end, const AdamRule& rule, Segments segments,
                  const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    const int64_t first = std::max(segment.begin, begin);
    const int64_t last = std::min(segment.end, end);
    if (first >= last) continue;
    constexpr bool kOnHost = true;
    AdamUpdate<T, G, kRound, kDecoupled, kOnHost>{rule, segment.weight_decay, state, arrays}(first,
                                                                                             last);
  }
}

template <class T, class G>
auto piece_function(const AdamRule& rule) {
  const bool rounds = rounds_gradient<T, G>(rule);
  if (rule.decoupled)
    return rounds ? update_piece<true, true, T, G> : update_piece<false, true, T, G>;
  return rounds ? update_piece<true, false, T, G> : update_piece<false, false, T, G>;
}

}  // namespace

template <class T, class G>
void host_adam(int threads, const AdamRule& rule, Segments segments, const StepState* state,
               const OptimizerArrays<T, G>& arrays) {
  const auto update = piece_function<T, G>(rule);
  int64_t numel = 0;
  for (const OptimizerSegment& segment : segments) numel = std::max(numel, segment.end);
  on_threads(threads, ceil_div(numel, kPieceNumel), [&](int, int64_t i) {
    update(i * kPieceNumel, std::min((i + 1) * kPieceNumel, numel), rule, segments, state, arrays);
  });
}

template <class T, class G>
void adam_in_pieces(Stream& stream, const AdamRule& rule, Segments segments, const StepState* state,
                    const OptimizerArrays<T, G>& arrays, int64_t numel,
                    const AroundPieces& around) {
  stream.wait();
  const auto update = piece_function<T, G>(rule);
  on_threads(stream.threads(), ceil_div(numel, kPieceNumel), [&](int, int64_t i) {
    const int64_t begin = i * kPieceNumel, end = std::min((i + 1) * kPieceNumel, numel);
    around.before(begin, end);
    update(begin, end, rule, segments, state, arrays);
    around.after(begin, end);
  });
}

template void host_adam(int, const AdamRule&, Segments, const StepState*,
                        const OptimizerArrays<float, float>&);
template void host_adam(int, const AdamRule&, Segments, const StepState*,
                        const OptimizerArrays<bf16, bf16>&);
template void host_adam(int, const AdamRule&, Segments, const StepState*,
                        const OptimizerArrays<bf16, float>&);
template void host_adam(int, const AdamRule&, Segments, const StepState*,
                        const OptimizerArrays<f16, f16>&);
template void host_adam(int, const AdamRule&, Segments, const StepState*,
                        const OptimizerArrays<f16, float>&);
template void adam_in_pieces(Stream&, const AdamRule&, Segments, const StepState*,
                             const OptimizerArrays<float, float>&, int64_t, const AroundPieces&);
template void adam_in_pieces(Stream&, const AdamRule&, Segments, const StepState*,
                             const OptimizerArrays<bf16, bf16>&, int64_t, const AroundPieces&);
template void adam_in_pieces(Stream&, const AdamRule&, Segments, const StepState*,
                             const OptimizerArrays<bf16, float>&, int64_t, const AroundPieces&);
template void adam_in_pieces(Stream&, const AdamRule&, Segments, const StepState*,
                             const OptimizerArrays<f16, f16>&, int64_t, const AroundPieces&);
template void adam_in_pieces(Stream&, const AdamRule&, Segments, const StepState*,
                             const OptimizerArrays<f16, float>&, int64_t, const AroundPieces&);

}  // namespace zero::kernels
