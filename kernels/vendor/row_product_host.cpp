#include <algorithm>

#include "kernels/support/host_team.hpp"
#include "kernels/vendor/multiples_host.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/row_product.hpp"

namespace zero::kernels {
namespace {

using vendor::kDepth;

/// Sums of a tile fill half of a 64 KiB stack frame and, beside the weights, a first-level cache.
constexpr int64_t kTileNumel = 8192;
constexpr int64_t kTileRows = 64;
/// Columns of a tile of several rows: eight rows of weights that wide, in fp32, are used from
/// cache.
constexpr int64_t kWideColumns = 256;
/// Neighbouring columns that one thread writes: whole vectors and whole cache lines.
constexpr int64_t kColumnUnit = 32;

struct Tile {
  int64_t row, rows, column, columns;
};

/// A stretch of x's columns: the weights' rows that meet them are added together.
struct Depths {
  int64_t begin, count;
};

template <class T>
struct Work {
  RowProductExtents extents;
  RowProductArrays<T> arrays;

  const T* weights(const Tile& tile, int64_t depth) const {
    return arrays.weight + depth * extents.out + tile.column;
  }
  void factors(int64_t row, const Depths& depths, float* factor) const {
    const T* const x = arrays.x + row * extents.in + depths.begin;
    for (int64_t i = 0; i < depths.count; ++i) factor[i] = float(x[i]);
  }
};

/// Weights of several rows of x are widened once for all of them; widening is exact, so a row alone
/// gets the same bits.
template <class T>
void add_to_rows(const Work<T>& work, const Tile& tile, const Depths& depths, float* sums) {
  alignas(64) float wide[kDepth * kWideColumns];
  const T* const from = work.weights(tile, depths.begin);
  for (int64_t i = 0; i < depths.count; ++i) {
#pragma omp simd
    for (int64_t j = 0; j < tile.columns; ++j)
      wide[i * tile.columns + j] = float(from[i * work.extents.out + j]);
  }
  float factor[kDepth];
  for (int64_t r = 0; r < tile.rows; ++r) {
    work.factors(tile.row + r, depths, factor);
    vendor::add_multiples<float>({wide, tile.columns, tile.columns}, factor, depths.count,
                                 sums + r * tile.columns);
  }
}

template <class T>
void add_to_row(const Work<T>& work, const Tile& tile, const Depths& depths, float* sums) {
  float factor[kDepth];
  work.factors(tile.row, depths, factor);
  vendor::add_multiples<T>({work.weights(tile, depths.begin), work.extents.out, tile.columns},
                           factor, depths.count, sums);
}

template <class T>
void multiply_tile(const Work<T>& work, const Tile& tile) {
  alignas(64) float sums[kTileNumel];
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t j = 0; j < tile.columns; ++j)
      sums[r * tile.columns + j] = float(work.arrays.bias[tile.column + j]);
  for (int64_t depth = 0; depth < work.extents.in; depth += kDepth) {
    const Depths depths{depth, std::min(kDepth, work.extents.in - depth)};
    if (tile.rows == 1)
      add_to_row(work, tile, depths, sums);
    else
      add_to_rows(work, tile, depths, sums);
  }
  for (int64_t r = 0; r < tile.rows; ++r) {
    T* const y = work.arrays.y + (tile.row + r) * work.extents.out + tile.column;
    for (int64_t j = 0; j < tile.columns; ++j) y[j] = T(sums[r * tile.columns + j]);
  }
}

/// One stretch of columns a thread, as long as the sums allow: what is read is then contiguous for
/// as long as possible.
int64_t tile_columns(const RowProductExtents& extents, int64_t rows, int threads) {
  const int64_t share = round_up(ceil_div(extents.out, int64_t(threads)), kColumnUnit);
  return std::min(share, rows == 1 ? kTileNumel : std::min(kTileNumel / rows, kWideColumns));
}

/// Rows of the table whose products are summed side by side.
constexpr int64_t kClasses = 4;
constexpr int64_t kLanes = 32;
/// Classes that a thread takes at a time: 384 KiB of a table of 768 columns in bf16.
constexpr int64_t kClassBlock = 256;

/// Balanced tree over lanes.
float sum_of(float* lane) {
  for (int64_t stride = kLanes / 2; stride > 0; stride /= 2)
    for (int64_t l = 0; l < stride; ++l) lane[l] += lane[l + stride];
  return lane[0];
}

template <int64_t kCount, class T>
void multiply_classes(int64_t width, const T* x, const T* table, float* y) {
  alignas(64) float lane[kCount][kLanes] = {};
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t c = 0; c < kCount; ++c) {
#pragma omp simd
      for (int64_t l = 0; l < kLanes; ++l)
        lane[c][l] = std::fma(float(x[i + l]), float(table[c * width + i + l]), lane[c][l]);
    }
  }
  for (int64_t c = 0; c < kCount; ++c) {
    for (int64_t i = whole; i < width; ++i)
      lane[c][i - whole] = std::fma(float(x[i]), float(table[c * width + i]), lane[c][i - whole]);
    y[c] = sum_of(lane[c]);
  }
}

}  // namespace

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  const Work<T> work{extents, arrays};
  for (int64_t row = 0; row < extents.rows; row += kTileRows) {
    const int64_t rows = std::min(kTileRows, extents.rows - row);
    const int64_t columns = tile_columns(extents, rows, stream.threads());
    on_threads(stream.threads(), ceil_div(extents.out, columns), [&](int, int64_t item) {
      const int64_t column = item * columns;
      multiply_tile(work, {row, rows, column, std::min(columns, extents.out - column)});
    });
  }
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const T* x, const T* table,
                   float* y) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  on_threads(stream.threads(), ceil_div(classes, kClassBlock), [&](int, int64_t block) {
    int64_t c = block * kClassBlock;
    const int64_t end = std::min(classes, c + kClassBlock);
    for (; c + kClasses <= end; c += kClasses)
      multiply_classes<kClasses>(width, x, table + c * width, y + c);
    for (; c < end; ++c) multiply_classes<1>(width, x, table + c * width, y + c);
  });
}

template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<float>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<bf16>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<f16>&);
template void table_product(Stream&, int64_t, int64_t, const float*, const float*, float*);
template void table_product(Stream&, int64_t, int64_t, const bf16*, const bf16*, float*);
template void table_product(Stream&, int64_t, int64_t, const f16*, const f16*, float*);

}  // namespace zero::kernels
