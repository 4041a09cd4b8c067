#pragma once

#include <cstdint>
#include <span>

#include "zero/base/dtype.hpp"

namespace zero::train {

/// master[i] = what weight[i] and rest[i] make (kernels::join_master), past this core's caches, as
/// nobody reads it soon. `master` is 16-byte aligned, [weight.size()]; rest [weight.size()]. What is
/// written is seen by who sees an atomic store that follows.
void stream_join(std::span<const bf16> weight, std::span<const int16_t> rest, float* master);

}  // namespace zero::train
