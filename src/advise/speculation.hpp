#pragma once

#include "zero/advise/placement.hpp"

namespace zero::advise {

/// Has units of a placement, whose other choices are made, updated before the norm is known, as
/// zero.offload_optimizer.speculate says. Throws Error(kDoesNotFit) where `true` has no room, and
/// SettingsError where homes leave it nothing to do.
void choose_speculation(const state::World& world, const MemoryLimit& limit,
                        const plan::Machine& machine, Placement& placement);

}  // namespace zero::advise
