#include "kernels/vendor/row_kernels.hpp"

#include <cuda_runtime.h>

#include "kernels/vendor/cuda/grid.hpp"
#include "zero/base/dtype.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kNormGradient = "zero::norm_gradient";

}  // namespace

template <class T, bool kCentred>
void norm_gradient(const Stream& stream, const NormGradInUse<T, kCentred>& code) {
  const Grid grid{code.shape.chunks, code.shape.threads(), code.shared_numel()};
  launch_grid<kNormGradThreads>(stream, kNormGradient, grid, code);
}

template void norm_gradient<float, true>(const Stream&, const NormGradInUse<float, true>&);
template void norm_gradient<bf16, true>(const Stream&, const NormGradInUse<bf16, true>&);
template void norm_gradient<f16, true>(const Stream&, const NormGradInUse<f16, true>&);
template void norm_gradient<float, false>(const Stream&, const NormGradInUse<float, false>&);
template void norm_gradient<bf16, false>(const Stream&, const NormGradInUse<bf16, false>&);
template void norm_gradient<f16, false>(const Stream&, const NormGradInUse<f16, false>&);

}  // namespace zero::kernels::vendor
