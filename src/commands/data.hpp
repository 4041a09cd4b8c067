#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Shows the data of an input file, for --ranks ranks: files, formats, counts and the fingerprint,
/// and with --steps the samples of those steps, read as the trainer reads them. --decode adds their
/// text, --json prints one object of the counts or, with --steps, one a sample with all its tokens.
/// Needs no peers. Throws Error(kInput) where the data is damaged, as training would.
int data(const CommandLine& line);

}  // namespace zero::commands
