#include "kernels/support/adam_update.hpp"
#include "kernels/support/elements.hpp"
#include "kernels/support/host_optimizer.hpp"
#include "zero/kernels/optimizer.hpp"

namespace zero::kernels {
namespace {

const std::string kLabel = "zero::adam";

template <bool kRound, bool kDecoupled, class T, class G>
void update(Stream& stream, const AdamRule& rule, std::span<const OptimizerSegment> segments,
            const StepState* state, const OptimizerArrays<T, G>& arrays) {
  for (const OptimizerSegment& segment : segments) {
    for_each_block(stream, kLabel, {segment.begin, segment.end},
                   AdamUpdate<T, G, kRound, kDecoupled, kHostSpace>{rule, segment.weight_decay,
                                                                    state, arrays});
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
