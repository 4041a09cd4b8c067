#include <algorithm>

#include "kernels/support/host_team.hpp"
#include "kernels/vendor/multiples_host.hpp"
#include "zero/base/align.hpp"
#include "zero/base/error.hpp"
#include "zero/kernels/row_product.hpp"

namespace zero::kernels {
namespace {

using vendor::kDepth;

/// Parts that `in` is cut into, whatever the threads: a thread that has a part reads weights that
/// lie one behind the other, half as fast again as every thread's share of each row. A sum is
/// that of its parts in order.
constexpr int64_t kParts = 8;
/// Rows and columns of x and y whose sums a thread has at a time: 32 KiB of sums.
constexpr int64_t kTileRows = 64;
constexpr int64_t kTileColumns = 128;

struct Span {
  int64_t begin, count;
};

Span part_of(int64_t in, int64_t part) {
  const int64_t share = ceil_div(in, kParts), begin = std::min(in, part * share);
  return {begin, std::min(share, in - begin)};
}

template <class T>
struct Work {
  RowProductExtents extents;
  RowProductArrays<T> arrays;
};

/// sums[r][j] += x[row + r][depth] weight[depth][column + j] for the depths of one part in order.
/// Weights are widened once for all rows, which is exact.
template <class T>
void add_part(const Work<T>& work, Span rows, Span depths, Span columns, float* sums) {
  alignas(64) float wide[kDepth * kTileColumns];
  const int64_t in = work.extents.in, out = work.extents.out, end = depths.begin + depths.count;
  for (int64_t depth = depths.begin; depth < end; depth += kDepth) {
    const int64_t count = std::min(kDepth, end - depth);
    const T* const from = work.arrays.weight + depth * out + columns.begin;
    for (int64_t i = 0; i < count; ++i) {
#pragma omp simd
      for (int64_t j = 0; j < columns.count; ++j)
        wide[i * columns.count + j] = float(from[i * out + j]);
    }
    for (int64_t r = 0; r < rows.count; ++r) {
      const T* const x = work.arrays.x + (rows.begin + r) * in + depth;
      float factor[kDepth];
      for (int64_t i = 0; i < count; ++i) factor[i] = float(x[i]);
      vendor::add_multiples<float>({wide, columns.count, columns.count}, factor, count,
                                   sums + r * columns.count);
    }
  }
}

/// The same of one row and all columns.
template <class T>
void add_part_to_row(const Work<T>& work, Span depths, float* sums) {
  const int64_t out = work.extents.out, end = depths.begin + depths.count;
  float factor[kDepth];
  for (int64_t depth = depths.begin; depth < end; depth += kDepth) {
    const int64_t count = std::min(kDepth, end - depth);
    for (int64_t i = 0; i < count; ++i) factor[i] = float(work.arrays.x[depth + i]);
    vendor::add_multiples<T>({work.arrays.weight + depth * out, out, out}, factor, count, sums);
  }
}

/// One row: a thread has all columns of a part, and its sums go to partial [kParts, out].
template <class T>
void multiply_row(Stream& stream, const Work<T>& work) {
  const int64_t out = work.extents.out;
  float* const partial = work.arrays.scratch;
  on_threads(stream.threads(), kParts, [&](int, int64_t part) {
    float* const sums = partial + part * out;
    std::fill(sums, sums + out, 0.0f);
    add_part_to_row(work, part_of(work.extents.in, part), sums);
  });
  for (int64_t j = 0; j < out; ++j) {
    float sum = float(work.arrays.bias[j]);
    for (int64_t part = 0; part < kParts; ++part) sum += partial[part * out + j];
    work.arrays.y[j] = T(sum);
  }
}

/// Several rows: a thread has some columns and all parts.
template <class T>
void multiply_tile(const Work<T>& work, Span rows, Span columns) {
  alignas(64) float sums[kTileRows * kTileColumns], part_sums[kTileRows * kTileColumns];
  const int64_t numel = rows.count * columns.count;
  for (int64_t i = 0; i < numel; ++i)
    sums[i] = float(work.arrays.bias[columns.begin + i % columns.count]);
  for (int64_t part = 0; part < kParts; ++part) {
    std::fill(part_sums, part_sums + numel, 0.0f);
    add_part(work, rows, part_of(work.extents.in, part), columns, part_sums);
    for (int64_t i = 0; i < numel; ++i) sums[i] += part_sums[i];
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    T* const y = work.arrays.y + (rows.begin + r) * work.extents.out + columns.begin;
    for (int64_t j = 0; j < columns.count; ++j) y[j] = T(sums[r * columns.count + j]);
  }
}

template <class T>
void multiply_rows(Stream& stream, const Work<T>& work) {
  const int64_t out = work.extents.out;
  for (int64_t row = 0; row < work.extents.rows; row += kTileRows) {
    const Span rows{row, std::min(kTileRows, work.extents.rows - row)};
    on_threads(stream.threads(), ceil_div(out, kTileColumns), [&](int, int64_t item) {
      const int64_t column = item * kTileColumns;
      multiply_tile(work, rows, {column, std::min(kTileColumns, out - column)});
    });
  }
}

constexpr int64_t kLanes = 32;
/// Classes that a thread takes at a time: 384 KiB of a table of 768 columns in bf16.
constexpr int64_t kClassBlock = 256;
/// Elements that are asked for ahead of their use.
constexpr int64_t kAhead = 1024;

/// Balanced tree over lanes.
float sum_of(float* lane) {
  for (int64_t stride = kLanes / 2; stride > 0; stride /= 2)
    for (int64_t l = 0; l < stride; ++l) lane[l] += lane[l + stride];
  return lane[0];
}

template <class T>
float multiply_class(int64_t width, const T* x, const T* row) {
  float lane[kLanes] = {};
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    __builtin_prefetch(row + i + kAhead);
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l)
      lane[l] = std::fma(float(x[i + l]), float(row[i + l]), lane[l]);
  }
  for (int64_t i = whole; i < width; ++i)
    lane[i - whole] = std::fma(float(x[i]), float(row[i]), lane[i - whole]);
  return sum_of(lane);
}

}  // namespace

int64_t row_product_scratch_numel(const RowProductExtents& extents) {
  return extents.rows == 1 ? kParts * extents.out : 0;
}

template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays) {
  ZERO_REQUIRE(extents.rows > 0 && extents.in > 0 && extents.out > 0, "product of ", extents.rows,
               " rows with ", extents.in, " x ", extents.out, ": every extent must be at least 1");
  const Work<T> work{extents, arrays};
  if (extents.rows == 1)
    multiply_row(stream, work);
  else
    multiply_rows(stream, work);
}

template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const T* x, const T* table,
                   float* y) {
  ZERO_REQUIRE(classes > 0 && width > 0, "product with a table of ", classes, " x ", width,
               ": both must be at least 1");
  on_threads(stream.threads(), ceil_div(classes, kClassBlock), [&](int, int64_t block) {
    const int64_t begin = block * kClassBlock, end = std::min(classes, begin + kClassBlock);
    for (int64_t c = begin; c < end; ++c) y[c] = multiply_class(width, x, table + c * width);
  });
}

template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<float>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<bf16>&);
template void row_product(Stream&, const RowProductExtents&, const RowProductArrays<f16>&);
template void table_product(Stream&, int64_t, int64_t, const float*, const float*, float*);
template void table_product(Stream&, int64_t, int64_t, const bf16*, const bf16*, float*);
template void table_product(Stream&, int64_t, int64_t, const f16*, const f16*, float*);

}  // namespace zero::kernels
