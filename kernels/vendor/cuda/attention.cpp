// The choice of a way to compute attention on a GPU.

#include "zero/kernels/attention.hpp"

#include "kernels/vendor/cuda/attention.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace vendor {
namespace {

/// The rules of the process, set before its first attention.
AttentionRules rules_of_attention;

template <class T>
void check(const AttentionExtents& extents, const DropoutSite& site, const AttentionInputs<T>& in) {
  check_attention(extents, site, in);
  if (extents.head_width > kHeadWidthMost) {
    refuse(Exit::kUsage, "heads of ", extents.head_width, ": attention on a GPU takes at most ",
           kHeadWidthMost, " - choose more heads");
  }
}

template <class T>
AttentionProblem problem_of(const AttentionExtents& extents, const DropoutSite& site,
                            const AttentionInputs<T>& in) {
  return {.extents = extents,
          .dtype = dtype_of<T>(),
          .dropout = site.probability,
          .rows = {.q = in.q_stride, .kv = in.kv_stride},
          .deterministic = rules_of_attention.deterministic};
}

}  // namespace
}  // namespace vendor

void prepare_attention(const AttentionExtents&, Dtype, bool) {}

int64_t attention_scratch_bytes(const AttentionExtents& extents, Dtype dtype, int) {
  return vendor::either_scratch_bytes(extents, dtype);
}

void set_attention_rules(const AttentionRules& rules) { vendor::rules_of_attention = rules; }

const char* attention_library() { return vendor::cudnn_name().c_str(); }

template <class T>
void attention(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
               const StepInputs* inputs, const AttentionArrays<T>& arrays) {
  vendor::check(extents, site, arrays.in);
  const vendor::AttentionLaunch launch{extents, site, inputs};
  if constexpr (sizeof(T) == 2) {
    const vendor::AttentionProblem problem = vendor::problem_of<T>(extents, site, arrays.in);
    if (vendor::cudnn_takes(problem))
      return vendor::library_attention<T>(stream, problem, launch, arrays);
  }
  vendor::own_attention<T>(stream, launch, arrays);
}

template <class T>
void attention_backward(Stream& stream, const AttentionExtents& extents, const DropoutSite& site,
                        const StepInputs* inputs, const AttentionGradArrays<T>& arrays) {
  vendor::check(extents, site, arrays.in);
  const vendor::AttentionLaunch launch{extents, site, inputs};
  if constexpr (sizeof(T) == 2) {
    const vendor::AttentionProblem problem = vendor::problem_of<T>(extents, site, arrays.in);
    if (vendor::cudnn_takes(problem))
      return vendor::library_attention_backward<T>(stream, problem, launch, arrays);
  }
  vendor::own_attention_backward<T>(stream, launch, arrays);
}

template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<float>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<bf16>&);
template void attention(Stream&, const AttentionExtents&, const DropoutSite&, const StepInputs*,
                        const AttentionArrays<f16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<float>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<bf16>&);
template void attention_backward(Stream&, const AttentionExtents&, const DropoutSite&,
                                 const StepInputs*, const AttentionGradArrays<f16>&);

}  // namespace zero::kernels
