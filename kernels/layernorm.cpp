#include "zero/kernels/layernorm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/support/norms.hpp"
#include "kernels/support/row_sums.hpp"
#include "zero/kernels/product.hpp"

namespace zero::kernels {
namespace {

const std::string kForward = "zero::layernorm", kBackward = "zero::layernorm_backward",
                  kTrees = "zero::layernorm_dparameters";

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
    row.write(width, y, [=](int64_t j) {
      return std::fma((float(x[j]) - mean) * rstd, float(weight[j]), float(bias[j]));
    });
    row.once([&] {
      arrays.mean[r] = mean;
      arrays.rstd[r] = rstd;
    });
  }
};

/// Writes dx = rstd (h - mean(h) - xhat mean(h xhat)),  h = dy weight
template <class T>
struct InputGradient {
  int64_t width;
  LayerNormGradArrays<T> arrays;

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t r) const {
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
      row.write(width, dx, gradient);
    } else {
      const T* const add = arrays.add + r * width;
      row.write(width, dx, [=](int64_t j) { return gradient(j) + float(add[j]); });
    }
  }
};

/// The gradients of a chunk of rows, by one thread of the host. Writes dx and adds to dweight and
/// dbias, [2, width] of the scratch, while a row is in cache.
template <class T>
struct ChunkGradients {
  RowChunks chunks;
  InputGradient<T> input;

  KOKKOS_FUNCTION void operator()(const HostRow& row, int64_t chunk) const {
    const int64_t width = input.width;
    float* const partial = input.arrays.scratch + chunk * 2 * width;
    row.for_each(2 * width, [=](int64_t j) { partial[j] = 0; });
    const Interval range = chunks[chunk];
    for (int64_t r = range.begin; r < range.end; ++r) {
      add_parameters(row, r, partial);
      input(row, r);
    }
  }

  KOKKOS_INLINE_FUNCTION void add_parameters(const HostRow& row, int64_t r, float* partial) const {
    const int64_t width = input.width;
    const T* const dy = input.arrays.dy + r * width;
    const T* const x = input.arrays.x + r * width;
    float* const dweight = partial;
    float* const dbias = partial + width;
    const float mean = input.arrays.mean[r], rstd = input.arrays.rstd[r];
    row.for_each(width, [=](int64_t j) {
      dweight[j] += float(dy[j]) * ((float(x[j]) - mean) * rstd);
      dbias[j] += float(dy[j]);
    });
  }
};

/// The trees over the chunks' sums of several vectors, [chunks, vectors, width].
template <class T>
struct ParameterTrees {
  static constexpr int kMost = 3;
  static constexpr int kThreads = 256;  ///< threads of a team of a GPU
  ColumnTree<T> tree[kMost];

  KOKKOS_FUNCTION void operator()(const Row& row, int64_t group) const {
    const int64_t groups = tree[0].groups();
    tree[group / groups](row, group % groups);
  }
};

/// Adds the chunks of the first `vectors` of dweight, dbias and dx_sum.
template <class T>
void add_chunks(Stream& stream, int64_t chunks, int64_t width, int vectors,
                const LayerNormGradArrays<T>& arrays) {
  T* const out[] = {arrays.dweight, arrays.dbias, arrays.dx_sum};
  ParameterTrees<T> trees;
  for (int v = 0; v < ParameterTrees<T>::kMost; ++v)
    trees.tree[v] = {chunks, vectors * width, width, arrays.scratch + v * width, out[v]};
  for_each_row(stream, kTrees, vectors * trees.tree[0].groups(), trees, trees.kThreads);
}

template <class T>
void backward_on_host(Stream& stream, const NormExtents& extents,
                      const LayerNormGradArrays<T>& arrays) {
  const RowChunks chunks{extents.rows};
  for_each_row(stream, kBackward, chunks.count(),
               ChunkGradients<T>{chunks, {extents.width, arrays}});
  add_chunks(stream, chunks.count(), extents.width, 2, arrays);
  if (arrays.dx_sum == nullptr) return;
  column_sum<T>(stream, extents.rows, extents.width, arrays.dx, arrays.dx_sum, arrays.scratch);
}

template <bool kWhole, class T>
void backward_on_device(Stream& stream, const NormExtents& extents,
                        const LayerNormGradArrays<T>& arrays) {
  const NormGradBlock<T, kWhole> code{RowChunks{extents.rows}, extents.width, arrays};
  const int64_t chunks = launch_backward(stream, kBackward, code);
  add_chunks(stream, chunks, extents.width, code.sums(), arrays);
}

/// Returns false, and does nothing, if rows are too wide for a block's registers and shared memory.
template <class T>
bool backward_in_registers(Stream& stream, const NormExtents& extents,
                           const LayerNormGradArrays<T>& arrays) {
  const NormGradShape shape = norm_grad_shape(extents);
  if (!vendor::norm_gradient<T, true>(stream, shape, arrays)) return false;
  add_chunks(stream, shape.chunks, extents.width, norm_grad_sums<true>(arrays), arrays);
  return true;
}

}  // namespace

template <class T>
void layernorm(Stream& stream, const NormExtents& extents, float epsilon,
               const LayerNormArrays<T>& arrays) {
  require_norm(extents, "layer norm");
  if constexpr (kHostSpace) {
    for_each_row(stream, kForward, extents.rows, Forward<T>{extents.width, epsilon, arrays});
  } else if (takes_whole_runs<T>(extents.width, {arrays.x, arrays.weight, arrays.bias, arrays.y})) {
    if (!vendor::norm_forward(stream, extents, epsilon, arrays))
      launch_forward(stream, kForward, NormForwardBlock<T, true>{extents, epsilon, arrays});
  } else {
    launch_forward(stream, kForward, NormForwardBlock<T, false>{extents, epsilon, arrays});
  }
}

int64_t layernorm_scratch_numel(const NormExtents& extents, bool dx_sum) {
  return most_chunks(extents) * (dx_sum ? 3 : 2) * extents.width;
}

template <class T>
void layernorm_backward(Stream& stream, const NormExtents& extents,
                        const LayerNormGradArrays<T>& arrays) {
  require_norm(extents, "layer norm");
  if constexpr (kHostSpace) {
    backward_on_host(stream, extents, arrays);
  } else if (takes_runs(arrays.scratch) &&
             takes_whole_runs<T>(extents.width,
                                 {arrays.dy, arrays.x, arrays.weight, arrays.add, arrays.dx})) {
    if (!backward_in_registers(stream, extents, arrays))
      backward_on_device<true>(stream, extents, arrays);
  } else {
    backward_on_device<false>(stream, extents, arrays);
  }
}

template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<float>&);
template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<bf16>&);
template void layernorm(Stream&, const NormExtents&, float, const LayerNormArrays<f16>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<float>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<bf16>&);
template void layernorm_backward(Stream&, const NormExtents&, const LayerNormGradArrays<f16>&);

}  // namespace zero::kernels
