#pragma once
/// The commands that tell a user how to use the program. Each returns the exit status.

#include <string>

#include "zero/usage/command_line.hpp"

namespace zero::usage {

/// Prints the text of the program or of line.topics: of a command, or of keys or sections of an
/// input file. With --search, prints what has all the words. Throws Error(kUsage) naming the
/// nearest topic.
int help(const CommandLine& line);

/// Lists the input files that come along, or prints the one called line.input. Throws Error(kInput)
/// if they are not beside the program, or none has that name.
int inputs(const CommandLine& line);

/// Writes manual pages and completions of shells to the new folder line.input. Throws Error(kIo) if
/// it exists.
int manual(const CommandLine& line);

/// Returns the release, and the commit that the build folder was configured at: "0.1.0 (07f5208)".
std::string version();

}  // namespace zero::usage
