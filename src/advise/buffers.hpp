#pragma once

#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/advise/placement.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// Whether zero.offload_optimizer.buffer_count is "auto" and counts anything. Homes are chosen.
bool chooses_buffers(const RunConfig& config);

/// What buffer_count = "auto" comes to: as many buffers as buffers_for() says, fewer where `limit`
/// ends before, at least one. Found by compiling, so it is the same on all ranks of one limit.
/// Throws as build().
int64_t choose_buffers(const RunConfig& config, const state::World& world, const MemoryLimit& limit,
                       const plan::Machine& machine);

/// None where `asked` leaves nothing to choose.
Choices buffer_choices(const RunConfig& asked, const RunConfig& chosen);

}  // namespace zero::advise
