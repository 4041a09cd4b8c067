#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Measures what a plan's forecast computes with, on every rank that the launcher started, all at
/// the same time: memory, products of each type, copies, collectives and, with --nvme, a disk; on a
/// build for devices those of each rank's device, beside the host's memory. Prints each figure and
/// writes a machine file for `plan --machine`. Takes about 15 seconds. Throws Error(kUsage) for a
/// file that is there already and a folder that is none, before anything is measured, and where no
/// device is.
int calibrate(const CommandLine& line, int& argc, char**& argv);

}  // namespace zero::commands
