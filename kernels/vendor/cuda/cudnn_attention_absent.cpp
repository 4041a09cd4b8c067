// A build without the headers of cudnn-frontend.

#include "kernels/vendor/cuda/attention.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels::vendor {

const std::string& cudnn_name() {
  static const std::string none;
  return none;
}

bool cudnn_takes(const AttentionProblem&) { return false; }

void cudnn_attention(Stream&, const AttentionProblem&, const CudnnArrays&) {
  ZERO_REQUIRE(false, "attention by cuDNN in a build without it");
}

void cudnn_attention_backward(Stream&, const AttentionProblem&, const CudnnArrays&) {
  ZERO_REQUIRE(false, "a gradient of attention by cuDNN in a build without it");
}

CudnnForecast cudnn_forecast(const std::string&, int, const AttentionProblem&) {
  return {.refusal = "this build is without cuDNN"};
}

}  // namespace zero::kernels::vendor
