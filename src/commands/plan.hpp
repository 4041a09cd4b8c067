#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Compiles the input for the ranks and the machine that are asked for and prints what it takes:
/// bytes, elements sent, time, and whether it fits. Needs no peers, data or device. Throws
/// Error(kDoesNotFit), naming the cheapest change under which it would fit, if it does not.
int plan(const CommandLine& line);

}  // namespace zero::commands
