#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"
#include "zero/kernels/step_state.hpp"

namespace zero::kernels {

struct RowProductExtents {
  int64_t rows;
  int64_t in;
  int64_t out;
};

template <class T>
struct RowProductArrays {
  const T* x;       ///< [rows, in]
  const T* weight;  ///< [in, out], in WeightPanels
  const T* bias;    ///< [out]
  T* y;             ///< [rows, out], written
  float* scratch;   ///< [row_product_scratch_numel(extents)]
};

/// fp32 elements of scratch that row_product() wants.
int64_t row_product_scratch_numel(const RowProductExtents& extents);

/// y = x weight + bias for few rows, where reading the weights is what takes the time. Each element
/// is the bias and one sum over `in` in order, in fp32, rounded once: its bits depend neither on
/// the other rows nor on the threads, so tokens that are fed one at a time and in chunks give the
/// same numbers. Asynchronous on `stream`.
template <class T>
void row_product(Stream& stream, const RowProductExtents& extents,
                 const RowProductArrays<T>& arrays);

template <class T>
struct TableProductArrays {
  const T* x;      ///< [inputs->rows, width], of which the last row counts
  const T* table;  ///< [classes, width]
  float* y;        ///< [classes], written
};

/// y[j] = the fp32 sum over i of x[last, i] table[j, i]: the scores of all classes for the last
/// row. The bits do not depend on the threads. `inputs` lie where the stream runs and are read when
/// the work does. Asynchronous on `stream`.
template <class T>
void table_product(Stream& stream, int64_t classes, int64_t width, const DecodeInputs* inputs,
                   const TableProductArrays<T>& arrays);

}  // namespace zero::kernels
