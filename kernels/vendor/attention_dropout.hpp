#pragma once
/// What a library draws its masks from.

#include "kernels/vendor/attention_problem.hpp"

namespace zero::kernels::vendor {

/// *dropout = attention_dropout() of this micro-batch. Asynchronous on `stream`.
void write_dropout(Stream& stream, const DropoutSite& site, const StepInputs* inputs,
                   AttentionDropout* dropout);

}  // namespace zero::kernels::vendor
