#pragma once

#include "src/commands/commands.hpp"

namespace zero::commands {

/// Writes the documents of data.train as a prepared set, with the ranks that the launcher started.
/// Their number changes no byte. Goes on in a folder that killed ranks left. Throws Error(kUsage)
/// and Error(kInput) as SetMaker, or launch::Ended if a failure was printed already.
int prepare(const CommandLine& line, int& argc, char**& argv);

}  // namespace zero::commands
