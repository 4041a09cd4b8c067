#include "kernels/vendor/row_kernels.hpp"

#include <cuda_runtime.h>

#include "kernels/support/norm_forward_rows.hpp"
#include "kernels/vendor/cuda/grid.hpp"
#include "zero/base/dtype.hpp"

namespace zero::kernels::vendor {
namespace {

const std::string kNormForward = "zero::norm_forward", kNormGradient = "zero::norm_gradient",
                  kColumnTiles = "zero::column_tiles";

template <int kRuns, class T>
bool forward_of_runs(const Stream& stream, const NormExtents& extents, float epsilon,
                     const LayerNormArrays<T>& arrays) {
  using Code = NormForwardRows<T, kRuns>;
  if (extents.width > Code::kWidest) return false;
  const Code code{extents, epsilon, arrays};
  launch_grid<Code::kThreads, 1>(stream, kNormForward, {code.blocks(), Code::kThreads, 0}, code);
  return true;
}

template <int kRuns, bool kCentred, class T>
bool gradient_of_runs(const Stream& stream, const NormGradShape& shape,
                      const LayerNormGradArrays<T>& arrays) {
  const NormGradRows<T, kRuns, kCentred> code{shape, arrays};
  if (!code.fits()) return false;
  const Grid grid{shape.chunks, shape.threads(), code.shared_numel()};
  launch_grid<code.kMostThreads, 1>(stream, kNormGradient, grid, code);
  return true;
}

}  // namespace

template <class T>
bool norm_forward(const Stream& stream, const NormExtents& extents, float epsilon,
                  const LayerNormArrays<T>& arrays) {
  return forward_of_runs<4>(stream, extents, epsilon, arrays) ||
         forward_of_runs<8>(stream, extents, epsilon, arrays) ||
         forward_of_runs<16>(stream, extents, epsilon, arrays);
}

template <class T, bool kCentred>
bool norm_gradient(const Stream& stream, const NormGradShape& shape,
                   const LayerNormGradArrays<T>& arrays) {
  return shape.runs == 2 ? gradient_of_runs<2, kCentred>(stream, shape, arrays)
                         : gradient_of_runs<3, kCentred>(stream, shape, arrays);
}

template <class T>
void add_column_tiles(const Stream& stream, const ColumnTiles<T>& code) {
  using Code = ColumnTiles<T>;
  launch_grid<Code::kThreads, Code::kBlocksAtOnce>(
      stream, kColumnTiles, {code.blocks(), Code::kThreads, Code::kSharedNumel}, code);
}

template bool norm_forward(const Stream&, const NormExtents&, float, const LayerNormArrays<float>&);
template bool norm_forward(const Stream&, const NormExtents&, float, const LayerNormArrays<bf16>&);
template bool norm_forward(const Stream&, const NormExtents&, float, const LayerNormArrays<f16>&);

template bool norm_gradient<float, true>(const Stream&, const NormGradShape&,
                                         const LayerNormGradArrays<float>&);
template bool norm_gradient<bf16, true>(const Stream&, const NormGradShape&,
                                        const LayerNormGradArrays<bf16>&);
template bool norm_gradient<f16, true>(const Stream&, const NormGradShape&,
                                       const LayerNormGradArrays<f16>&);
template bool norm_gradient<float, false>(const Stream&, const NormGradShape&,
                                          const LayerNormGradArrays<float>&);
template bool norm_gradient<bf16, false>(const Stream&, const NormGradShape&,
                                         const LayerNormGradArrays<bf16>&);
template bool norm_gradient<f16, false>(const Stream&, const NormGradShape&,
                                        const LayerNormGradArrays<f16>&);

template void add_column_tiles(const Stream&, const ColumnTiles<float>&);
template void add_column_tiles(const Stream&, const ColumnTiles<bf16>&);
template void add_column_tiles(const Stream&, const ColumnTiles<f16>&);

}  // namespace zero::kernels::vendor
