#include "zero/kernels/disentangled.hpp"

#include "kernels/support/rows.hpp"
#include "kernels/vendor/attention_problem.hpp"
#include "kernels/vendor/disentangled_rows.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::disentangled_attention";
const std::string kBackward = "zero::disentangled_attention_backward";

}  // namespace

int64_t disentangled_scratch_bytes(const DisentangledExtents& extents, Dtype, int) {
  return vendor::DisentangledPlaces(extents).numel * int64_t(sizeof(float));
}

void prepare_disentangled(const DisentangledExtents&, Dtype, bool) {}

template <class T>
void disentangled_attention(Stream& stream, const DisentangledExtents& extents,
                            const DropoutSite& site, const StepInputs* inputs,
                            const DisentangledArrays<T>& arrays) {
  vendor::check_attention(extents.plain(), site, arrays.in);
  const vendor::TextSample<T> text(extents, site, inputs, arrays.in, arrays.positions,
                                   arrays.scratch);
  vendor::attend_texts(extents, text, arrays, [&](int64_t rows, const auto& functor) {
    for_each_row(stream, kForward, rows, functor);
  });
}

template <class T>
void disentangled_attention_backward(Stream& stream, const DisentangledExtents& extents,
                                     const DropoutSite& site, const StepInputs* inputs,
                                     const DisentangledGradArrays<T>& arrays) {
  vendor::check_attention(extents.plain(), site, arrays.in);
  const vendor::TextSample<T> text(extents, site, inputs, arrays.in, arrays.positions,
                                   arrays.scratch);
  vendor::attend_texts_backward(extents, text, arrays, [&](int64_t rows, const auto& functor) {
    for_each_row(stream, kBackward, rows, functor);
  });
}

template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<float>&);
template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<bf16>&);
template void disentangled_attention(Stream&, const DisentangledExtents&, const DropoutSite&,
                                     const StepInputs*, const DisentangledArrays<f16>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<float>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<bf16>&);
template void disentangled_attention_backward(Stream&, const DisentangledExtents&,
                                              const DropoutSite&, const StepInputs*,
                                              const DisentangledGradArrays<f16>&);

}  // namespace zero::kernels
