#pragma once
/// What the 32 threads of a warp do together. Templates over a thread of a block, which tells who
/// it is and lets threads meet: a GPU's, or in tests the host's (tests/support/device_block.hpp).

#include "zero/base/portable.hpp"

namespace zero::kernels {

inline constexpr int kWarpLanes = 32;

/// The sum over a warp's lanes, along a fixed tree, in each of them.
template <class Block, class Value>
ZERO_DEVICE_ONLY Value warp_sum(const Block& block, Value value) {
  for (int step = kWarpLanes / 2; step > 0; step /= 2)
    value += block.shuffle(value, block.lane() ^ step);
  return value;
}

template <class Block>
ZERO_DEVICE_ONLY float warp_maximum(const Block& block, float value) {
  for (int step = kWarpLanes / 2; step > 0; step /= 2) {
    const float other = block.shuffle(value, block.lane() ^ step);
    value = value < other ? other : value;
  }
  return value;
}

}  // namespace zero::kernels
