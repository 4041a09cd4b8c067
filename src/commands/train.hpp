#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Trains as the input file says, together with the ranks that the launcher started. Throws
/// train::Ended where a failure was printed already.
int train(const CommandLine& line, int& argc, char**& argv);

/// The same input, planned for the ranks that the launcher started; only the first prints.
int dry_run(CommandLine line);

}  // namespace zero::commands
