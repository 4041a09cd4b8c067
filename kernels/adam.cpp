#include "kernels/support/adam_update.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/segment_table.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::adam";

/// On a GPU an element a thread, of several segments.
template <class T, class G, bool kRound, bool kDecoupled>
struct SegmentsUpdate {
  AdamRule rule;
  const StepState* state;
  OptimizerArrays<T, G> arrays;
  SegmentTable segments;

  KOKKOS_FUNCTION void operator()(int64_t i, int64_t) const {
    segments.with_decay_of(i, [&](float decay) {
      AdamUpdate<T, G, kRound, kDecoupled, false>{rule, decay, state, arrays}(i, i + 1);
    });
  }
};

/// The elements between the first and the last of these segments, which lie in order.
Interval all_of(std::span<const OptimizerSegment> segments) {
  return {segments.front().begin, segments.back().end};
}

template <bool kRound, bool kDecoupled, class T, class G>
void update(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays) {
  if constexpr (kHostSpace) {
    for (const OptimizerSegment& segment : segments) {
      for_each_block(stream, kLabel, {segment.begin, segment.end},
                     AdamUpdate<T, G, kRound, kDecoupled, kHostSpace>{rule, segment.weight_decay,
                                                                      state, arrays});
    }
  } else {
    while (!segments.empty()) {
      const auto some = segments.first(std::min(segments.size(), size_t(SegmentTable::kMost)));
      for_each_block(
          stream, kLabel, all_of(some),
          SegmentsUpdate<T, G, kRound, kDecoupled>{rule, state, arrays, SegmentTable(some)});
      segments = segments.subspan(some.size());
    }
  }
}

}  // namespace

template <class T, class G>
void adam(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
          const StepState* state, const OptimizerArrays<T, G>& arrays) {
  if (stream.is_of_host()) {
    stream.wait();
    return host_adam(stream.threads(), rule, segments, state, arrays);
  }
  with_form_of<T, G>(rule, [&](auto rounds, auto decoupled) {
    update<rounds, decoupled>(stream, rule, segments, state, arrays);
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

}  // namespace zero::kernels
