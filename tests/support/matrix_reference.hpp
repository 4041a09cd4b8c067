#pragma once
/// Inputs and double-precision loops for tests of products, attention and the classifier.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/arrays.hpp"

namespace zero::testing {

/// Multiples of 1/16 in [-1, 1], exact in every dtype; equal seeds give equal values.
template <class T>
std::vector<T> sixteenths(int64_t numel, uint32_t seed) {
  std::vector<T> values(static_cast<size_t>(numel));
  uint32_t state = seed * 2654435761u + 12345u;
  for (T& value : values) {
    state = state * 1664525u + 1013904223u;
    value = T(float(int32_t(state >> 24) % 33 - 16) / 16.0f);
  }
  return values;
}

/// Every byte 0xff: NaN in every dtype. What a kernel must write over, not read.
template <class T>
std::vector<T> poisoned(int64_t numel) {
  std::vector<T> values(static_cast<size_t>(numel));
  if (numel > 0) std::memset(static_cast<void*>(values.data()), 0xff, values.size() * sizeof(T));
  return values;
}

/// A matrix in a flat array: element (i, j) is at i * row + j * column.
struct Strides {
  int64_t row, column;
};

inline Strides strides(bool transposed, int64_t ld) {
  return transposed ? Strides{1, ld} : Strides{ld, 1};
}

struct ReferenceProduct {
  int64_t m, n, k;
  Strides a, b;
};

/// sum over k of a(i, k) b(k, j), [m, n].
template <class T>
std::vector<double> multiply(const ReferenceProduct& shape, const std::vector<T>& a,
                             const std::vector<T>& b) {
  std::vector<double> c(size_t(shape.m * shape.n), 0.0);
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t k = 0; k < shape.k; ++k)
      for (int64_t j = 0; j < shape.n; ++j)
        c[size_t(i * shape.n + j)] +=
            double(float(a[size_t(i * shape.a.row + k * shape.a.column)])) *
            double(float(b[size_t(k * shape.b.row + j * shape.b.column)]));
  return c;
}

}  // namespace zero::testing
