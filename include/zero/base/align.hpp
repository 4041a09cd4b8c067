#pragma once

#include <cstdint>

#include "zero/base/portable.hpp"

namespace zero {

/// The least multiple of `unit` that is at least `value`.
template <class T>
ZERO_HOST_DEVICE constexpr T round_up(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

template <class T>
ZERO_HOST_DEVICE constexpr T ceil_div(T value, T unit) {
  return (value + unit - 1) / unit;
}

/// A shard border and a block of the gradient norm: 2048 elements, 4 KiB of bf16.
inline constexpr int64_t kBlockNumel = 2048;
/// Every tensor of a unit begins at a multiple of this many elements.
inline constexpr int64_t kTensorAlignNumel = 64;
/// Every extent of an arena begins at a multiple of this many bytes.
inline constexpr int64_t kExtentAlignBytes = 128;

}  // namespace zero
