#pragma once

#include "src/commands/command_line.hpp"

namespace zero::commands {

/// Looks at everything outside of the program that training leans on, on every rank that the
/// launcher started, and prints one table (or, with --json, one object) from rank 0: what is good,
/// what costs speed or safety, what is missing, and what to do about it. Takes a few seconds, most
/// of them to measure. Returns 0, or, where something is missing that training needs, the status
/// that training would end with.
int doctor(const CommandLine& line, int& argc, char**& argv);

}  // namespace zero::commands
