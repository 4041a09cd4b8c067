#pragma once
/// Moves of rows within samples: rows beside their neighbours, parts of samples, padding.

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// Rows of samples that lie one after the other.
struct SampleRows {
  int64_t samples, length;  ///< length: rows of a sample
  int64_t width;

  int64_t numel() const { return samples * length * width; }
};

/// Writes rows beside their neighbours: out[s] = x[s - 1], x[s], x[s + 1] side by side, with zeros
/// in place of neighbours that another sample has. A product with a weight [3 width, n] is then a
/// convolution over three places.
///   x [samples * length, width], out [samples * length, 3 width]
/// T is float, bf16 or f16. Asynchronous on `stream`.
template <class T>
void neighbour_rows(Stream& stream, const SampleRows& rows, const T* x, T* out);

/// Writes the gradient of neighbour_rows(): dx[s] = the sum of dout at the three places of x[s],
/// from the first row to the last, in fp32 and rounded once. Asynchronous on `stream`.
template <class T>
void neighbour_rows_backward(Stream& stream, const SampleRows& rows, const T* dout, T* dx);

/// Writes out = x, with zeros for rows from counts[sample] on. It is its own gradient.
///   x, out [samples * length, width], counts [samples], 0 to length
/// `out` may be x. Asynchronous on `stream`.
template <class T>
void clear_padding(Stream& stream, const SampleRows& rows, const int32_t* counts, const T* x,
                   T* out);

/// Rows [first, first + count) of every sample.
struct RowsTaken {
  int64_t first, count;
};

/// Writes the rows `taken` of all samples of x to `out`, one sample after the other.
///   x [samples * length, width], out [samples * taken.count, width]
/// Asynchronous on `stream`. Throws Error(kInternal) for rows that samples do not have.
template <class T>
void take_rows(Stream& stream, const SampleRows& rows, const RowsTaken& taken, const T* x, T* out);

/// Writes the gradient of take_rows(): dout in its places, and zeros elsewhere. Asynchronous on
/// `stream`.
template <class T>
void take_rows_backward(Stream& stream, const SampleRows& rows, const RowsTaken& taken,
                        const T* dout, T* dx);

}  // namespace zero::kernels
