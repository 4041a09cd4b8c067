#include <algorithm>
#include <cmath>

#include "kernels/support/norms.hpp"
#include "kernels/support/row_sums.hpp"
#include "zero/kernels/layernorm.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::rmsnorm", kBackward = "zero::rmsnorm_backward",
                  kTree = "zero::rmsnorm_dweight";

template <class T>
struct Forward {
  int64_t width;
  float epsilon;
  RmsNormArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    const T* const x = arrays.x + r * width;
    const T* const weight = arrays.weight;
    T* const y = arrays.y + r * width;
    const float squares =
        row.template sum<float>(width, [=](int64_t j) { return float(x[j]) * float(x[j]); });
    const float rrms = 1.0f / std::sqrt(squares / float(width) + epsilon);
    const float offset = arrays.offset;
    row.write(width, y,
              [=](int64_t j) { return float(x[j]) * rrms * (offset + float(weight[j])); });
    row.once([&] { arrays.rrms[r] = rrms; });
  }
};

/// The gradients of a chunk of rows, by one thread of the host. Writes dx and adds to dweight,
/// [width] of the scratch, while a row is in cache.
template <class T>
struct ChunkGradients {
  RowChunks chunks;
  int64_t width;
  RmsNormGradArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t chunk) const {
    float* const partial = arrays.scratch + chunk * width;
    row.for_each(width, [=](int64_t j) { partial[j] = 0; });
    const Interval range = chunks[chunk];
    for (int64_t r = range.begin; r < range.end; ++r) {
      add_to_weight(row, r, partial);
      write_dx(row, r);
    }
  }

 private:
  KOKKOS_INLINE_FUNCTION void add_to_weight(const HostRow& row, int64_t r, float* partial) const {
    const T* const dy = arrays.dy + r * width;
    const T* const x = arrays.x + r * width;
    const float rrms = arrays.rrms[r];
    row.for_each(width, [=](int64_t j) { partial[j] += float(dy[j]) * (float(x[j]) * rrms); });
  }

  /// Writes dx = rrms (h - xhat mean(h xhat)) + add,  h = dy (offset + weight),  xhat = x rrms
  KOKKOS_INLINE_FUNCTION void write_dx(const HostRow& row, int64_t r) const {
    const T* const dy = arrays.dy + r * width;
    const T* const x = arrays.x + r * width;
    const T* const weight = arrays.weight;
    T* const dx = arrays.dx + r * width;
    const float rrms = arrays.rrms[r], offset = arrays.offset;
    const float along = row.sum<float>(width, [=](int64_t j) {
      return float(dy[j]) * (offset + float(weight[j])) * (float(x[j]) * rrms);
    }) / float(width);
    const auto gradient = [=](int64_t j) {
      return (float(dy[j]) * (offset + float(weight[j])) - float(x[j]) * rrms * along) * rrms;
    };
    if (arrays.add == nullptr) return row.write(width, dx, gradient);
    const T* const add = arrays.add + r * width;
    row.write(width, dx, [=](int64_t j) { return gradient(j) + float(add[j]); });
  }
};

/// Returns the number of chunks. Returns 0, and does nothing, if rows are too wide for a block's
/// registers and shared memory.
template <class T>
int64_t backward_in_registers(Stream& stream, const NormExtents& extents,
                              const RmsNormGradArrays<T>& arrays) {
  const NormGradShape shape = norm_grad_shape(extents);
  const LayerNormGradArrays<T> of_norm{.dy = arrays.dy,
                                       .x = arrays.x,
                                       .weight = arrays.weight,
                                       .mean = nullptr,
                                       .rstd = arrays.rrms,
                                       .add = arrays.add,
                                       .dx = arrays.dx,
                                       .dweight = arrays.dweight,
                                       .dbias = nullptr,
                                       .scratch = arrays.scratch,
                                       .offset = arrays.offset};
  return vendor::norm_gradient<T, false>(stream, shape, of_norm) ? shape.chunks : 0;
}

}  // namespace

template <class T>
void rmsnorm(Stream& stream, const NormExtents& extents, float epsilon,
             const RmsNormArrays<T>& given) {
  require_norm(extents, "RMS norm");
  RmsNormArrays<T> arrays = given;
  arrays.offset = offset_of(given.offset);
  if constexpr (kHostSpace) {
    for_each_row(stream, kForward, extents.rows, Forward<T>{extents.width, epsilon, arrays});
  } else if (takes_whole_runs<T>(extents.width, {arrays.x, arrays.weight, arrays.y})) {
    launch_forward(stream, kForward, RmsForwardBlock<T, true>{extents, epsilon, arrays});
  } else {
    launch_forward(stream, kForward, RmsForwardBlock<T, false>{extents, epsilon, arrays});
  }
}

int64_t rmsnorm_scratch_numel(const NormExtents& extents) {
  return most_chunks(extents) * extents.width;
}

template <class T>
void rmsnorm_backward(Stream& stream, const NormExtents& extents,
                      const RmsNormGradArrays<T>& given) {
  require_norm(extents, "RMS norm");
  RmsNormGradArrays<T> arrays = given;
  arrays.offset = offset_of(given.offset);
  const RowChunks chunks{extents.rows};
  int64_t count = 0;
  if constexpr (kHostSpace) {
    count = chunks.count();
    for_each_row(stream, kBackward, count, ChunkGradients<T>{chunks, extents.width, arrays});
  } else if (takes_runs(arrays.scratch) &&
             takes_whole_runs<T>(extents.width,
                                 {arrays.dy, arrays.x, arrays.weight, arrays.add, arrays.dx})) {
    count = backward_in_registers(stream, extents, arrays);
    if (count == 0)
      count =
          launch_backward(stream, kBackward, RmsGradBlock<T, true>{chunks, extents.width, arrays});
  } else {
    count =
        launch_backward(stream, kBackward, RmsGradBlock<T, false>{chunks, extents.width, arrays});
  }
  const ColumnTree<T> tree{count, extents.width, extents.width, arrays.scratch, arrays.dweight};
  for_each_row(stream, kTree, tree.groups(), tree);
}

template void rmsnorm(Stream&, const NormExtents&, float, const RmsNormArrays<float>&);
template void rmsnorm(Stream&, const NormExtents&, float, const RmsNormArrays<bf16>&);
template void rmsnorm(Stream&, const NormExtents&, float, const RmsNormArrays<f16>&);
template void rmsnorm_backward(Stream&, const NormExtents&, const RmsNormGradArrays<float>&);
template void rmsnorm_backward(Stream&, const NormExtents&, const RmsNormGradArrays<bf16>&);
template void rmsnorm_backward(Stream&, const NormExtents&, const RmsNormGradArrays<f16>&);

}  // namespace zero::kernels
