#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/generation.hpp"
#include "zero/model/family.hpp"

namespace zero::commands {

enum class Command {
  train,
  plan,
  data,
  doctor,
  calibrate,
  eval,
  generate,
  ls,
  fsck,
  inspect,
  export_model,
  import_weights,
  import_deepspeed,
  score,
  help,
  version
};

/// What was typed, and what the program that it was typed to knows.
struct CommandLine {
  const model::Catalogue* catalogue = nullptr;  ///< run_program() gives it
  std::string program = "zeroapp";              ///< as it was started: what a reader can type again
  Command command = Command::train;
  std::string input;   ///< the file or folder that the command works on
  std::string second;  ///< inspect: another one; score: the references; else the new one
  std::vector<std::string> overrides;  ///< key=value, in their order

  bool dry_run = false;        ///< train: print the plan instead
  int64_t ranks = 1;           ///< plan, data
  int64_t ranks_per_node = 0;  ///< plan; 0 = all on one node
  std::string machine;         ///< plan: --machine; "" = this host, by the rates of run.machine
  bool max_batch = false;
  bool json = false;
  std::string steps;  ///< data: "3" or "1..3"; "" = none
  std::string from;   ///< data: the checkpoints of a run that goes on; "" = from its first step
  bool decode = false;
  std::string scratch = ".";        ///< doctor
  bool card = false;                ///< doctor: only the name that plan --machine knows
  std::optional<std::string> nvme;  ///< doctor, calibrate: a folder whose disk is measured
  std::string prompt, prompt_file;  ///< generate, like what follows
  std::string lines;                ///< a file with a source or prompt a line; its texts: `output`
  bool chat = false;
  std::string persona;
  int64_t batch = 0;            ///< lines worked on at a time; 0: a default
  GenerationConfig generation;  ///< what is written; --tokens is max_new_tokens, and a
                                ///< temperature of 0 draws nothing
  int64_t seed = 0;
  bool quick = false;                   ///< ls: without reading every block
  std::string format = "safetensors";   ///< export: or "hdf5"
  std::string dtype;                    ///< export: "fp32", "bf16", "fp16"; "" = as it was trained
  int64_t shard_bytes = 5'000'000'000;  ///< export: of a file, at most
  std::string output;  ///< import-deepspeed, calibrate, generate: a new file; "" = a default
  bool leave_out_unsupported = false;  ///< import-deepspeed, like what follows
  bool hf_defaults = false;
  std::vector<std::string> launch_line;  ///< the words after "--"
};

/// `words` are those after the program's name. Throws Error(kUsage) for an unknown option, a
/// missing value or input file, and a word that is no key=value.
CommandLine read_command_line(std::span<const char* const> words);

std::string help_text(const model::Catalogue& catalogue);

}  // namespace zero::commands
