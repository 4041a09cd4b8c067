#pragma once
/// A product whose rate is the peak that others are measured against.

#include <cstdint>
#include <vector>

#include "zero/device/stream.hpp"
#include "zero/kernels/product.hpp"

namespace zero::perf {

template <class T>
struct SquareProduct {
  static constexpr int64_t kSide = 2048;
  static constexpr double kFlops = 2.0 * kSide * kSide * kSide;
  std::vector<T> a = std::vector<T>(kSide * kSide, T(0.5f));
  std::vector<T> b = std::vector<T>(kSide * kSide, T(0.25f));
  std::vector<T> c = std::vector<T>(kSide * kSide);

  void operator()(Stream& stream) {
    kernels::product<T, T>(stream, {.m = kSide, .n = kSide, .k = kSide}, a.data(), b.data(),
                           nullptr, c.data());
    stream.wait();
  }
};

}  // namespace zero::perf
