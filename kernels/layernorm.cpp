#include "zero/kernels/layernorm.hpp"

#include <cmath>

#include "kernels/support/column_tree.hpp"
#include "zero/base/error.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::layernorm", kBackward = "zero::layernorm_backward",
                  kWeight = "zero::layernorm_dweight", kBias = "zero::layernorm_dbias";

void check(const NormExtents& extents) {
  ZERO_REQUIRE(extents.rows >= 1 && extents.width >= 1, "layer norm of ", extents.rows, " x ",
               extents.width, ": both must be at least 1");
}

template <class T>
struct Forward {
  int64_t width;
  float epsilon;
  LayerNormArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
    const T* const x = arrays.x + r * width;
    const T* const weight = arrays.weight;
    const T* const bias = arrays.bias;
    T* const y = arrays.y + r * width;
    const float mean =
        row.template sum<float>(width, [=](int64_t j) { return float(x[j]); }) / float(width);
    const float variance = row.template sum<float>(width, [=](int64_t j) {
      const float difference = float(x[j]) - mean;
      return difference * difference;
    });
    const float rstd = 1.0f / std::sqrt(variance / float(width) + epsilon);
    row.for_each(width, [=](int64_t j) {
      y[j] = T(std::fma((float(x[j]) - mean) * rstd, float(weight[j]), float(bias[j])));
    });
    row.once([&] {
      arrays.mean[r] = mean;
      arrays.rstd[r] = rstd;
    });
  }
};

/// A chunk of rows: their dx, and their part of dweight and dbias, [2, width] of the scratch.
template <class T>
struct Backward {
  RowChunks chunks;
  int64_t width;
  LayerNormGradArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t chunk) const {
    float* const partial = arrays.scratch + chunk * 2 * width;
    row.for_each(2 * width, [=](int64_t j) { partial[j] = 0; });
    row.barrier();
    const Interval range = chunks[chunk];
    for (int64_t r = range.begin; r < range.end; ++r) {
      add_parameters(row, r, partial);
      write_dx(row, r);
    }
  }

  KOKKOS_INLINE_FUNCTION void add_parameters(const Row& row, int64_t r, float* partial) const {
    const T* const dy = arrays.dy + r * width;
    const T* const x = arrays.x + r * width;
    float* const dweight = partial;
    float* const dbias = partial + width;
    const float mean = arrays.mean[r], rstd = arrays.rstd[r];
    row.for_each(width, [=](int64_t j) {
      dweight[j] += float(dy[j]) * ((float(x[j]) - mean) * rstd);
      dbias[j] += float(dy[j]);
    });
  }

  /// dx = rstd (h - mean(h) - xhat mean(h xhat)),  h = dy weight
  KOKKOS_INLINE_FUNCTION void write_dx(const Row& row, int64_t r) const {
    const T* const dy = arrays.dy + r * width;
    const T* const x = arrays.x + r * width;
    const T* const weight = arrays.weight;
    T* const dx = arrays.dx + r * width;
    const float mean = arrays.mean[r], rstd = arrays.rstd[r];
    const float h_mean = row.template sum<float>(width, [=](int64_t j) {
      return float(dy[j]) * float(weight[j]);
    }) / float(width);
    const float h_along = row.template sum<float>(width, [=](int64_t j) {
      return float(dy[j]) * float(weight[j]) * ((float(x[j]) - mean) * rstd);
    }) / float(width);
    const auto gradient = [=](int64_t j) {
      const float xhat = (float(x[j]) - mean) * rstd;
      return (float(dy[j]) * float(weight[j]) - h_mean - xhat * h_along) * rstd;
    };
    if (arrays.add == nullptr) {
      row.for_each(width, [=](int64_t j) { dx[j] = T(gradient(j)); });
    } else {
      const T* const add = arrays.add + r * width;
      row.for_each(width, [=](int64_t j) { dx[j] = T(gradient(j) + float(add[j])); });
    }
    row.barrier();
  }
};

}  // namespace

template <class T>
void layernorm(Stream& stream, const NormExtents& extents, float epsilon,
               const LayerNormArrays<T>& arrays) {
  check(extents);
  for_each_row(stream, kForward, extents.rows, Forward<T>{extents.width, epsilon, arrays});
}

int64_t layernorm_scratch_numel(const NormExtents& extents) {
  return RowChunks{extents.rows}.count() * 2 * extents.width;
}

template <class T>
void layernorm_backward(Stream& stream, const NormExtents& extents,
                        const LayerNormGradArrays<T>& arrays) {
  check(extents);
  const RowChunks chunks{extents.rows};
  for_each_row(stream, kBackward, chunks.count(), Backward<T>{chunks, extents.width, arrays});
  ColumnTree<T> tree{.chunks = chunks.count(),
                     .stride = 2 * extents.width,
                     .columns = extents.width,
                     .partial = arrays.scratch,
                     .out = arrays.dweight};
  for_each_row(stream, kWeight, tree.groups(), tree);
  tree.partial = arrays.scratch + extents.width;
  tree.out = arrays.dbias;
  for_each_row(stream, kBias, tree.groups(), tree);
}

template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<float>&);
template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<bf16>&);
template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<f16>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<float>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<bf16>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<f16>&);

}  // namespace zero::kernels
