#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// The loss of a trained model on validation data, together with the ranks that the launcher
/// started, whose number changes no digit. The folder is a run's, with its settings, or a model's;
/// key=value add or change settings, of which those of training act on nothing here. Throws
/// train::Ended where a failure was printed already.
int eval(const CommandLine& line, int& argc, char**& argv);

}  // namespace zero::commands
