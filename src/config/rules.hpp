#pragma once

#include "src/config/report.hpp"
#include "zero/config/run_config.hpp"

namespace zero {

/// Reports what is missing, what contradicts and what has no effect in a configuration whose single
/// values are legal.
void check_rules(RunConfig& config, Report& report);

}  // namespace zero
