#pragma once
/// The command line as read.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/generation_keys.hpp"
#include "zero/model/family.hpp"

namespace zero::usage {

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
  metrics,
  top,
  why,
  explain,
  report,
  export_model,
  import_weights,
  import_deepspeed,
  score,
  replay,
  inputs,
  help,
  manual,
  version
};

/// The typed command, with the program's catalogue.
struct CommandLine {
  const model::Catalogue* catalogue = nullptr;  ///< set by run_program()
  std::string program = "zeroapp";              ///< as started: a reader can type it again
  Command command = Command::train;
  std::string input;   ///< file or folder that the command works on
  std::string second;  ///< inspect: another source; score: references; else the new folder
  std::vector<std::string> more;       ///< report: more runs, after `input`
  std::vector<std::string> overrides;  ///< key=value, in typed order

  bool dry_run = false;        ///< train: print the plan instead
  int64_t ranks = 1;           ///< plan, data: ranks to plan for
  int64_t ranks_per_node = 0;  ///< plan; 0 = as many as the machine has GPUs, else all on one node
  int64_t threads = 0;         ///< plan: per rank; 0 = by run.threads or the machine
  std::string machine;         ///< plan: --machine; "" = this host, by the rates of run.machine
  bool max_batch = false;
  bool json = false;
  std::string steps;    ///< data: "3" or "1..3"; "" = none
  std::string prepare;  ///< data: a new prepared set; "" = none
  std::string from;     ///< data: checkpoints of a run that goes on; "" = first step
  bool decode = false;
  std::string scratch = ".";        ///< doctor: folder to test writing in
  bool card = false;                ///< doctor: only the name that plan --machine knows
  bool placement = false;           ///< doctor: only where each rank stands
  std::optional<std::string> nvme;  ///< doctor, calibrate: folder whose disk is measured
  std::string prompt, prompt_file;  ///< generate, like all members up to `seed`
  std::string lines;                ///< file with a source or prompt a line; texts go to `output`
  bool chat = false;
  std::string persona;
  int64_t batch = 0;            ///< lines worked on at a time; 0 = default
  int64_t first_line = 1;       ///< first line of `lines` that gets a text
  bool ids = false;             ///< token ids in place of texts
  GenerationConfig generation;  ///< typed options; --tokens is max_new_tokens, and a temperature of
                                ///< 0 draws nothing
  int64_t seed = 0;
  std::string scores;             ///< eval: a new file with the scores of each sample; "" = none
  bool quick = false;             ///< ls: does not read every block
  bool csv = false, tsv = false;  ///< metrics: the form of the table
  std::string columns;            ///< metrics: names between commas; "" = all
  bool once = false;              ///< top: prints once and ends
  bool all = false;               ///< explain: also what is no better
  std::string format = "safetensors";   ///< export: or "hdf5"
  std::string dtype;                    ///< export: "fp32", "bf16", "fp16"; "" = as it was trained
  int64_t shard_bytes = 5'000'000'000;  ///< export: most bytes of a file
  bool search = false;                  ///< help: texts are searched for `topics`
  std::vector<std::string> topics;      ///< help: a command or key; none = the program
  std::string output;  ///< import-deepspeed, calibrate, generate, report: a new file; "" = a
                       ///< default
  bool leave_out_unsupported = false;  ///< import-deepspeed, like the members below
  bool hf_defaults = false;
  std::vector<std::string> launch_line;  ///< words after "--"
  int64_t from_step = -1, to_step = 0;   ///< replay; -1: not typed, 0: the last one
  bool bisect = false;                   ///< replay
  int64_t nodes = 0;                     ///< doctor --slurm, whose file is `input`; 0: none
  int64_t gpus = 0;                      ///< likewise; of a node
};

/// Reads the words after the program's name. Throws Error(kUsage) for an unknown option, a missing
/// value or input file, and a word that is no key=value.
CommandLine read_command_line(std::span<const char* const> words);

}  // namespace zero::usage
