#include "kernels/vendor/attention_dropout.hpp"

#include "kernels/support/elements.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kDropout = "zero::write_dropout";

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

void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout) {
  for_each_element(stream, kDropout, 1, WriteDropout{site, inputs, dropout});
}

}  // namespace zero::kernels::vendor
