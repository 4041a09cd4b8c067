#include "kernels/support/adam_step.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/host_team.hpp"
#include "kernels/support/master.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::adam";

/// The compiler turns a loop of this many turns into straight vector code.
constexpr int64_t kStripNumel = 32;

/// How far ahead of the arithmetic a strip's lines are asked for. The host's own prefetcher loses
/// five arrays at every page, and 16-bit elements fill a page's time with little arithmetic: 0.80
/// of the stream rate becomes 0.90; with fp32 weights nothing is gained.
[[maybe_unused]] constexpr int64_t kAheadNumel = 192;

/// Inlined by force: a function that only prefetches looks to GCC like one that does nothing.
template <class E>
KOKKOS_FORCEINLINE_FUNCTION void ask_ahead(const E* array, int64_t i) {
  [[maybe_unused]] constexpr int64_t kLine = 64 / int64_t(sizeof(E));
  KOKKOS_IF_ON_HOST((for (int64_t j = 0; j < kStripNumel; j += kLine)
                         __builtin_prefetch(array + i + kAheadNumel + j, 1);))
}

template <class T, class G>
KOKKOS_FORCEINLINE_FUNCTION void ask_ahead(const OptimizerArrays<T, G>& a, int64_t i) {
  if constexpr (sizeof(T) == 2) {
    ask_ahead(a.weight, i);
    ask_ahead(a.rest, i);
    ask_ahead(a.momentum, i);
    ask_ahead(a.variance, i);
    ask_ahead(a.grad, i);
  }
}

/// One segment's update, element by element.
template <class T, class G, bool kRound, bool kDecoupled>
struct Update {
  AdamRule rule;
  float weight_decay;
  const StepState* state;
  OptimizerArrays<T, G> arrays;

  KOKKOS_FUNCTION void operator()(int64_t first, int64_t last) const {
    if (state->apply == 0) return;
    const AdamStep step(rule, *state);
    const OptimizerArrays<T, G> a = arrays;
    const float keep = std::fma(-step.learning_rate, weight_decay, 1.0f), l2 = weight_decay;
    const auto update = [=](int64_t i) {
      const float w = load_master(a.weight, a.rest, i);
      const float own = gradient_at<T, kRound>(a.grad, i, step);
      const float g = kDecoupled ? own : std::fma(l2, w, own);
      const float m = step.momentum(a.momentum[i], g);
      const float v = step.variance(a.variance[i], g);
      a.momentum[i] = m;
      a.variance[i] = v;
      store_master(std::fma(-step.learning_rate, step.direction(m, v), kDecoupled ? w * keep : w),
                   a.weight, a.rest, i);
    };
    int64_t i = first;
    for (; i + kStripNumel <= last; i += kStripNumel) {
      ask_ahead(a, i);
#pragma GCC ivdep
      for (int64_t j = i; j < i + kStripNumel; ++j) update(j);
    }
#pragma GCC ivdep
    for (int64_t j = i; j < last; ++j) update(j);
  }
};

template <bool kRound, bool kDecoupled, class T, class G>
void update_piece(Interval piece, const AdamRule& rule, std::span<const OptimizerSegment> segments,
                  const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    const int64_t first = std::max(segment.begin, piece.begin);
    const int64_t last = std::min(segment.end, piece.end);
    if (first >= last) continue;
    Update<T, G, kRound, kDecoupled>{rule, segment.weight_decay, state, arrays}(first, last);
  }
}

template <bool kRound, bool kDecoupled, class T, class G>
void update(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    for_each_block(stream, kLabel, {segment.begin, segment.end},
                   Update<T, G, kRound, kDecoupled>{rule, segment.weight_decay, state, arrays});
  }
}

/// A gradient that is a T already rounds to itself.
template <class T, class G>
bool rounds_gradient(const AdamRule& rule) {
  return rule.round_gradient && !std::is_same_v<T, G>;
}

}  // namespace

template <class T, class G>
void adam(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
          const StepState* state, const OptimizerArrays<T, G>& arrays) {
  const bool rounds = rounds_gradient<T, G>(rule);
  const auto chosen = rule.decoupled
                          ? (rounds ? update<true, true, T, G> : update<false, true, T, G>)
                          : (rounds ? update<true, false, T, G> : update<false, false, T, G>);
  chosen(stream, rule, segments, state, arrays);
}

template <class T, class G>
void adam_in_pieces(Stream& stream, const AdamRule& rule,
                    std::span<const OptimizerSegment> segments, const StepState* state,
                    const OptimizerArrays<T, G>& arrays, int64_t numel,
                    const AroundPieces& around) {
  const bool rounds = rounds_gradient<T, G>(rule);
  const auto chosen =
      rule.decoupled
          ? (rounds ? update_piece<true, true, T, G> : update_piece<false, true, T, G>)
          : (rounds ? update_piece<true, false, T, G> : update_piece<false, false, T, G>);
  on_threads(stream.threads(), ceil_div(numel, kPieceNumel), [&](int, int64_t i) {
    const Interval piece{i * kPieceNumel, std::min((i + 1) * kPieceNumel, numel)};
    around.before(piece.begin, piece.end);
    chosen(piece, rule, segments, state, arrays);
    around.after(piece.begin, piece.end);
  });
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
