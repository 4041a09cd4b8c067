#pragma once

#include "zero/config/run_config.hpp"
#include "zero/setup/build.hpp"

namespace zero::setup {

/// Returns plan::Request::group_ranks of a training. Throws Error(kUsage) if groups of that size do
/// not divide ranks and nodes.
int group_ranks(const RunConfig& config, const World& world);

}  // namespace zero::setup
