#pragma once

#include <string>

#include "zero/config/run_config.hpp"
#include "zero/plan/forecast.hpp"

namespace zero::commands {

/// Whether it is a file of `zeroapp calibrate`: a profile's name has neither a dot nor a slash.
bool is_machine_file(const std::string& machine);

/// The machine by whose rates a plan is forecast and chosen.
struct MachineRates {
  plan::Machine machine;
  int64_t threads = 0;       ///< of each rank that measured; 0: a built-in profile
  std::string file = {};     ///< what the file says, as text; "" of a profile
  std::string warning = {};  ///< of a file that was measured by another number of ranks
};

/// Those of --machine, a file or a profile. Throws Error(kUsage) that names it and all that is
/// wrong.
MachineRates rates_of_option(const std::string& machine, const RunConfig& config, int64_t ranks);

/// Likewise those of run.machine, which is not ""; as a SettingsError.
MachineRates rates_of_key(const RunConfig& config, int64_t ranks);

}  // namespace zero::commands
