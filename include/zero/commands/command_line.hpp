#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero::commands {

enum class Command { train, plan, help, version };

/// What was typed behind the program's name.
struct CommandLine {
  Command command = Command::train;
  std::string input;                   ///< the file or folder that the command works on
  std::vector<std::string> overrides;  ///< key=value, in their order

  bool dry_run = false;        ///< train: print the plan instead
  int64_t ranks = 1;           ///< plan
  int64_t ranks_per_node = 0;  ///< plan; 0 = all on one node
  std::string machine = "host";
  bool max_batch = false;
  bool json = false;
};

/// Throws Error(kUsage) for an unknown option, a missing value or input file, and a word that is no
/// key=value.
CommandLine read_command_line(std::span<const char* const> words);

std::string help_text();

}  // namespace zero::commands
