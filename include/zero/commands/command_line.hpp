#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zero::commands {

enum class Command { train, plan, data, doctor, eval, generate, import_deepspeed, help, version };

/// What was typed behind the program's name.
struct CommandLine {
  Command command = Command::train;
  std::string input;                   ///< the file or folder that the command works on
  std::vector<std::string> overrides;  ///< key=value, in their order

  bool dry_run = false;        ///< train: print the plan instead
  int64_t ranks = 1;           ///< plan, data
  int64_t ranks_per_node = 0;  ///< plan; 0 = all on one node
  std::string machine = "host";
  bool max_batch = false;
  bool json = false;
  std::string steps;  ///< data: "3" or "1..3"; "" = none
  bool decode = false;
  std::string scratch = ".";        ///< doctor
  std::string prompt, prompt_file;  ///< generate, like what follows
  int64_t tokens = 200;
  double temperature = 0;
  int64_t top_k = 0;
  int64_t seed = 0;
  std::string output;                  ///< import-deepspeed: a new file; "" = standard output
  bool leave_out_unsupported = false;  ///< import-deepspeed
};

/// Throws Error(kUsage) for an unknown option, a missing value or input file, and a word that is no
/// key=value.
CommandLine read_command_line(std::span<const char* const> words);

std::string help_text();

}  // namespace zero::commands
