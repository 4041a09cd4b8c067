#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"

namespace zero::kernels {

/// The value that element `element` of parameter `parameter` starts from: standard normal, from
/// Philox and Box-Muller in double. Depends on nothing else, so every rank fills only its shard.
float initial_normal(uint64_t seed, uint32_t parameter, int64_t element);

/// values[i] = initial_normal(seed, parameter, first + i), many times faster than one by one. On
/// the calling thread.
void initial_normals(uint64_t seed, uint32_t parameter, int64_t first, std::span<float> values);

}  // namespace zero::kernels
