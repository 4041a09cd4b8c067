#pragma once

#include "zero/advise/placement.hpp"

namespace zero::advise {

/// Chooses the units updated before the norm is known, by zero.offload_optimizer.speculate. Throws
/// Error(kDoesNotFit) if `true` has no room, and SettingsError if homes allow no speculation.
/// REQUIRES: all other choices of the placement are made.
void choose_speculation(const setup::World& world, const MemoryLimit& limit,
                        const plan::Machine& machine, Placement& placement);

}  // namespace zero::advise
