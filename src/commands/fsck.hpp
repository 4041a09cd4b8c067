#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Checks every digest of the checkpoints of a run, of a folder, or of one of them, and names each
/// damaged file and block; and whatever else lies there, with what removes it. Throws Error(kInput)
/// if some of them do not verify, Error(kNoCheckpoint) if none does.
int fsck(const CommandLine& line);

}  // namespace zero::commands
