#pragma once

#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero {

/// Returns the smallest multiple of `unit` that is at least `value`.
template <class T>
ZERO_HOST_DEVICE constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

/// Returns value / unit, rounded up to a whole number.
template <class T>
ZERO_HOST_DEVICE constexpr T ceil_div(T value, T unit) {
  return (value + unit - 1) / unit;
}

/// Elements of a block: the granule of shard borders and of the gradient norm. 4 KiB of bf16.
inline constexpr int64_t kBlockNumel = 2048;
/// Elements. Every tensor of a unit begins at a multiple of this.
inline constexpr int64_t kTensorAlignNumel = 64;
/// Bytes. Every extent of an arena begins at a multiple of this.
inline constexpr int64_t kExtentAlignBytes = 128;

}  // namespace zero
