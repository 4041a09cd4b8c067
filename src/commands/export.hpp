#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Writes the model of a checkpoint, of any rank count and stage, as a new model folder. Throws
/// Error(kInput) for a damaged checkpoint or a weight that the type asked for cannot hold,
/// Error(kIo) if the folder is there already or the disk is full.
int export_model(const CommandLine& line);

}  // namespace zero::commands
