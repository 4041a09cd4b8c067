#pragma once
/// Some columns of the rows of a matrix. Arrays are float, bf16 or f16, and values fp32 between
/// load and store. Asynchronous on `stream`.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Columns [first, first + width) of a matrix of [rows, columns].
struct ColumnRange {
  int64_t rows, columns;
  int64_t first, width;
};

/// Writes y = x, plus `scale` times `part` [rows, width] in the columns of `range`. Rounds a sum
/// once. x and y are [rows, columns], and y may be x.
template <class T>
void add_to_columns(Stream& stream, const ColumnRange& range, float scale, const T* x,
                    const T* part, T* y);

/// Writes part = `scale` times the columns of `range` of x. x is [rows, columns], part [rows,
/// width].
template <class T>
void take_columns(Stream& stream, const ColumnRange& range, float scale, const T* x, T* part);

}  // namespace zero::kernels
