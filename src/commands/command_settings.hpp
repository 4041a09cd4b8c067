#pragma once

#include "src/commands/commands.hpp"
#include "zero/config/read_config.hpp"
#include "zero/train/start_model.hpp"

namespace zero::commands {

/// Reads the input file and the settings of a command line, with the numbers of the model that such
/// a run begins with. `start` then holds that model. Prints warnings unless another rank does.
/// Throws as read_config_file().
ConfigInput read_settings(const CommandLine& line, train::StartModel& start, bool warns = true);

}  // namespace zero::commands
