#pragma once
/// Products of few rows as a GPU computes them: functors over elements, and over rows that a team
/// of threads works on (kernels/support/rows.hpp), so that the host runs the same code in tests.

#include <cmath>

#include "kernels/support/row_chunks.hpp"
#include "zero/kernels/decode.hpp"

namespace zero::kernels::vendor {

/// Element i of y: neighbours read neighbouring columns of a panel, and the sum runs in the host's
/// order, one fused step each.
template <class T>
struct RowProduct {
  RowProductExtents extents;
  RowProductArrays<T> arrays;

  ZERO_HOST_DEVICE void operator()(int64_t i) const {
    constexpr int64_t kColumns = WeightPanels::kColumns;
    const int64_t row = i / extents.out, column = i % extents.out;
    const int64_t first = column / kColumns * kColumns,
                  columns = least(kColumns, extents.out - first);
    const T* const x = arrays.x + row * extents.in;
    const T* const weight = arrays.weight + first * extents.in + column - first;
    float sum = 0.0f;
    for (int64_t k = 0; k < extents.in; ++k)
      sum = std::fma(float(x[k]), float(weight[k * columns]), sum);
    arrays.y[i] = T(arrays.bias == nullptr ? sum : float(arrays.bias[column]) + sum);
  }
};

/// Row c has class c, for all rows of x that are wanted.
template <class T>
struct TableProduct {
  int64_t classes, width;
  const DecodeInputs* inputs;
  TableProductArrays<T> arrays;

  template <class RowOf>
  ZERO_HOST_DEVICE void operator()(const RowOf& row, int64_t c) const {
    const T* const class_row = arrays.table + c * width;
    for (int64_t wanted = 0; wanted < inputs->logits; ++wanted) {
      const T* const values = arrays.x + arrays.rows[wanted] * width;
      const float sum = row.template sum<float>(
          width, [=](int64_t i) { return float(values[i]) * float(class_row[i]); });
      float* const out = arrays.y + wanted * classes + c;
      row.once([=] { *out = sum; });
    }
  }
};

}  // namespace zero::kernels::vendor
