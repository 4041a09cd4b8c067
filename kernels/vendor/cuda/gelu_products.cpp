#include "kernels/vendor/cuda/gelu_products.hpp"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <string_view>

#include "kernels/support/chunk_sums.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"
#include "zero/base/align.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

bool run_lagged(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  return run_lagged_product(native_stream(stream), spec, operands);
}

bool run_lagged_in_turns(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  return run_lagged_product_in_turns(native_stream(stream), spec, operands);
}

bool run_pingpong(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  return run_pingpong_product(native_stream(stream), spec, operands);
}

bool run_lagged_gradient(Stream& stream, const GemmSpec& spec, const GemmOperands& operands) {
  if (!run_lagged_gradient_product(native_stream(stream), spec, operands)) return false;
  if (spec.epilogue == Epilogue::gelu_gradient_sums)
    add_chunk_sums(stream, ceil_div(spec.m, kGradientSumRows), spec.n, operands.scratch,
                   static_cast<bf16*>(operands.sums));
  return true;
}

constexpr GeluProduct kProducts[] = {{"lagged 128x256", run_lagged},
                                     {"ping-pong 128x128", run_pingpong},
                                     {"lagged 128x256 in turns", run_lagged_in_turns, true}};
constexpr GeluProduct kGradients[] = {{"lagged 128x256 in turns", run_lagged_gradient, true}};

/// Their instructions are no other GPU's, older or newer.
bool is_hopper() {
  int device = 0, major = 0, minor = 0;
  check_gpu(cudaGetDevice(&device), "asking for the device");
  check_gpu(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
            "asking what a device can do");
  check_gpu(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
            "asking what a device can do");
  return major == 9 && minor == 0;
}

}  // namespace

std::span<const GeluProduct> gelu_products(Epilogue epilogue) {
  static const bool runs_here = is_hopper();
  if (!runs_here) return {};
  if (epilogue == Epilogue::gelu) return kProducts;
  return kGradients;
}

bool offers(const GeluProduct& product) {
  static const char* const wanted = std::getenv("ZERO_PRODUCTS");
  return !product.candidate || (wanted != nullptr && std::string_view(wanted) == "candidates");
}

}  // namespace zero::kernels::vendor
