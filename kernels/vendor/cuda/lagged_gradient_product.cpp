// The lagged product whose tiles are finished with the gradient of GELU and with sums of columns.

#include <cuda_runtime.h>

#include "kernels/vendor/cuda/finishing_thread.hpp"
#include "kernels/vendor/cuda/hopper_products.hpp"
#include "kernels/vendor/cuda/lagged_product.hpp"

namespace zero::kernels::vendor {
namespace {

using namespace lagged;

static_assert(kRows == kGradientSumRows);

struct FinishGradient {
  using Weights = ColumnMajor;
  static constexpr bool kAddsBias = false;
  static constexpr int kBeside = kFinishers * kColumns;  ///< a sum for each finishing warp
  static constexpr int kFinishRegisters = 136, kMultiplyRegisters = 184;
  GradientTiles of;

  __device__ __forceinline__ void tiles(Walk walk, const unsigned char* result, float* sums) const {
    of(FinishingThread(), walk, result, sums);
  }
};

}  // namespace

bool run_lagged_gradient_product(cudaStream_t stream, const GemmSpec& spec,
                                 const GemmOperands& operands) {
  return launch_lagged(
      stream, spec, operands,
      FinishGradient{{.m = int(spec.m),
                      .n = int(spec.n),
                      .aux = static_cast<const bf16*>(operands.aux),
                      .c = static_cast<bf16*>(operands.c),
                      .partial = operands.sums != nullptr ? operands.scratch : nullptr}});
}

}  // namespace zero::kernels::vendor
