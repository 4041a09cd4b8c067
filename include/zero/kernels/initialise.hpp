#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"

namespace zero::kernels {

/// Returns the initial value of one element of parameter number `parameter` in a run with this
/// seed: standard normal, by Philox and Box-Muller in double. The value depends on the arguments
/// alone, so every rank fills only its shard.
float initial_normal(uint64_t seed, uint32_t parameter, int64_t element);

/// Writes values[i] = initial_normal(seed, parameter, first + i), many times faster than one by
/// one. Runs on the calling thread.
void initial_normals(uint64_t seed, uint32_t parameter, int64_t first, std::span<float> values);

}  // namespace zero::kernels
