#pragma once

#include <cstdint>

#include "zero/base/dtype.hpp"
#include "zero/device/stream.hpp"

namespace zero::kernels {

/// The activation of a gate. Exponentials are branch-free polynomials of our own.
enum class Gate {
  silu,      ///< x / (1 + e^-x); Elfwing et al. 2017 (arXiv:1702.03118)
  gelu_tanh  ///< Activation::gelu
};

struct GatedExtents {
  int64_t rows;
  int64_t width;  ///< of gates, and of what they open
};

/// Writes y = act(gate) up, with the activation `gate`. x is [rows, 2 width], the columns of the
/// gate in front of those of up; y is [rows, width]. Values are fp32 between load and store.
/// Asynchronous on `stream`. Source: Shazeer 2020 (arXiv:2002.05202), eq. 5 and 6.
template <class T>
void gated(Stream& stream, Gate gate, const GatedExtents& extents, const T* x, T* y);

template <class T>
struct GatedGradArrays {
  const T* x;   ///< [rows, 2 width]
  const T* dy;  ///< [rows, width]
  T* dx;        ///< [rows, 2 width], written; may be x
};

/// Writes the gradient of gated() for its x, in one pass, with the gate and extents of that call.
/// Asynchronous on `stream`.
template <class T>
void gated_backward(Stream& stream, Gate gate, const GatedExtents& extents,
                    const GatedGradArrays<T>& arrays);

}  // namespace zero::kernels
