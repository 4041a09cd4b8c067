#include "kernels/vendor/head_padding.hpp"

#include "kernels/support/elements.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kResize = "zero::resize_heads", kDropout = "zero::write_dropout";

template <class T>
struct Resize {
  HeadWidths widths;
  const T* from;
  T* to;

  KOKKOS_FUNCTION void operator()(int64_t i) const {
    const int64_t head = i / widths.to, j = i % widths.to;
    to[i] = j < widths.from ? from[head * widths.from + j] : T(0.0f);
  }
};

struct WriteDropout {
  DropoutSite site;
  const StepInputs* inputs;
  AttentionDropout* dropout;

  KOKKOS_FUNCTION void operator()(int64_t) const {
    *dropout =
        attention_dropout(inputs->seed, site.site, inputs->first_sample + site.sample_offset);
  }
};

}  // namespace

template <class T>
void resize_heads(Stream& stream, const HeadWidths& widths, const T* from, T* to) {
  for_each_element(stream, kResize, widths.heads * widths.to, Resize<T>{widths, from, to});
}

void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout) {
  for_each_element(stream, kDropout, 1, WriteDropout{site, inputs, dropout});
}

template void resize_heads(Stream&, const HeadWidths&, const bf16*, bf16*);
template void resize_heads(Stream&, const HeadWidths&, const f16*, f16*);

}  // namespace zero::kernels::vendor
