#include "kernels/support/element_update.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "kernels/support/segment_table.hpp"
#include "zero/base/error.hpp"
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

void require_order(std::span<const OptimizerSegment> segments) {
  for (size_t s = 0; s < segments.size(); ++s) {
    const int64_t least = s == 0 ? 0 : segments[s - 1].end;
    ZERO_REQUIRE(segments[s].begin >= least && segments[s].end >= segments[s].begin, "segment ", s,
                 " of an update is [", segments[s].begin, ", ", segments[s].end,
                 "): must begin at ", least, " or behind it and not end before it begins");
  }
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
    for_each_table(segments, [&](int64_t begin, int64_t end, const SegmentTable& table) {
      for_each_block(stream, kLabel, {begin, end},
                     SegmentsUpdate<T, G, kRound, kDecoupled>{rule, state, arrays, table});
    });
  }
}

}  // namespace

template <class T, class G>
void adam(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
          const StepState* state, const OptimizerArrays<T, G>& arrays) {
  require_order(segments);
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
