#include "src/commands/command_settings.hpp"

#include "zero/base/error.hpp"

namespace zero::commands {

ConfigInput read_settings(const CommandLine& line, train::StartModel& start, bool warns) {
  ConfigInput input =
      read_config_file(line.catalogue->models, line.input, line.overrides, zero::Writer::user,
                       train::start_reader(*line.catalogue, start));
  for (const std::string& warning : input.warnings)
    if (warns) warn(warning);
  return input;
}

}  // namespace zero::commands
