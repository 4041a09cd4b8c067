#pragma once

#include <string>

#include "zero/advise/memory_limit.hpp"
#include "zero/config/read_config.hpp"
#include "zero/plan/forecast.hpp"
#include "zero/state/build.hpp"

namespace zero::advise {

/// Whether zero.offload_optimizer.buffer_count is "auto" and counts anything. Homes are chosen.
bool chooses_buffers(const RunConfig& config);

/// What buffer_count = "auto" comes to: as many buffers as buffers_for() says, fewer where `limit`
/// ends before, at least one. Found by compiling, so it is the same on all ranks of one limit.
/// Throws as build().
int64_t choose_buffers(const RunConfig& config, const state::Team& team, const MemoryLimit& limit,
                       const plan::Machine& machine);

/// For people, a line; "" if `asked` leaves nothing to choose.
std::string buffers_text(const RunConfig& asked, const RunConfig& chosen);

/// Adds the choice to the origin of the key, which stays as it is.
void note_buffers(const RunConfig& chosen, ConfigInput& input);

}  // namespace zero::advise
