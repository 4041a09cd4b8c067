#pragma once
/// Arrays for kernel tests: reproducible noise in any element type, and how far a result is from a
/// reference in double.

#include <cmath>
#include <cstring>
#include <vector>

#include "zero/base/dtype.hpp"
#include "zero/base/philox.hpp"

namespace zero::testing {

/// Uniform values in [-scale, scale), the same for the same seed, rounded to T.
template <class T>
std::vector<T> noise(int64_t numel, uint64_t seed, double scale = 1.0) {
  std::vector<T> values(static_cast<size_t>(numel));
  for (int64_t i = 0; i < numel; ++i) {
    const uint32_t word = philox({{uint32_t(i), 0, 0, 0}}, seed).word[0];
    values[size_t(i)] = T(float(scale * (double(word) * 0x1p-31 - 1.0)));
  }
  return values;
}

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  std::vector<double> out;
  for (const T& value : values) out.push_back(double(float(value)));
  return out;
}

/// Largest relative error of one rounding to T.
template <class T>
constexpr double rounding() {
  return dtype_of<T>() == Dtype::f32 ? 0x1p-24 : dtype_of<T>() == Dtype::bf16 ? 0x1p-8 : 0x1p-11;
}

/// |actual - expected| / |expected| in the L2 norm.
template <class T>
double relative_error(const std::vector<T>& actual, const std::vector<double>& expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = double(float(actual[i])) - expected[i];
    error += difference * difference;
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / (norm > 0 ? norm : 1));
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace zero::testing
