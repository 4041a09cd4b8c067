#include "kernels/vendor/cuda/gelu_products.hpp"

#include "kernels/vendor/cuda/hopper_products.hpp"
#include "zero/device/gpu_runtime.hpp"

namespace zero::kernels::vendor {
namespace {

constexpr GeluProduct kProducts[] = {{"lagged 128x256", run_lagged_product},
                                     {"ping-pong 128x128", run_pingpong_product}};

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

std::span<const GeluProduct> gelu_products() {
  static const bool runs_here = is_hopper();
  return runs_here ? std::span<const GeluProduct>(kProducts) : std::span<const GeluProduct>();
}

}  // namespace zero::kernels::vendor
