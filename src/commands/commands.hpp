#pragma once
/// The command line as read, and a function for each command that returns the exit status. Each
/// throws Error if only this process knows, or launch::Ended if all ranks do and one has printed.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "zero/config/generation_keys.hpp"
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

/// The typed command, with the program's catalogue.
struct CommandLine {
  const model::Catalogue* catalogue = nullptr;  ///< set by run_program()
  std::string program = "zeroapp";              ///< as started: a reader can type it again
  Command command = Command::train;
  std::string input;   ///< file or folder that the command works on
  std::string second;  ///< inspect: another source; score: references; else the new folder
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
  std::string scores;  ///< eval: a new file with the scores of each sample; "" = none
  bool quick = false;  ///< ls: does not read every block
  std::string format = "safetensors";   ///< export: or "hdf5"
  std::string dtype;                    ///< export: "fp32", "bf16", "fp16"; "" = as it was trained
  int64_t shard_bytes = 5'000'000'000;  ///< export: most bytes of a file
  std::string output;  ///< import-deepspeed, calibrate, generate: a new file; "" = a default
  bool leave_out_unsupported = false;  ///< import-deepspeed, like the members below
  bool hf_defaults = false;
  std::vector<std::string> launch_line;  ///< words after "--"
};

/// Reads the words after the program's name. Throws Error(kUsage) for an unknown option, a missing
/// value or input file, and a word that is no key=value.
CommandLine read_command_line(std::span<const char* const> words);

std::string help_text(const model::Catalogue& catalogue);

/// Returns the release, and the commit that the build folder was configured at: "0.1.0 (07f5208)".
std::string version();

/// Trains as the input file says, with the ranks that the launcher started. Throws launch::Ended if
/// a failure was printed already.
int train(const CommandLine& line, int& argc, char**& argv);

/// Plans the input for the ranks that the launcher started. Only the first rank prints.
int dry_run(CommandLine line);

/// Compiles the input for the ranks and the machine that are asked for. Prints bytes, elements
/// sent, time, and if it fits. Needs no peers, data or device. Throws Error(kDoesNotFit) if it does
/// not fit, naming the cheapest change that would.
int plan(const CommandLine& line);

/// Shows the data of an input file for --ranks ranks: files, formats, counts and the fingerprint.
/// --steps adds the samples of those steps, read as the trainer reads them. --decode adds their
/// text. --json prints one object of the counts or, with --steps, one a sample with all its tokens.
/// --prepare writes the documents of data.train as a prepared set instead.
/// Needs no peers. Throws Error(kInput) for damaged data, as training would.
int data(const CommandLine& line);

/// Examines all that training needs outside of the program, on every rank that the launcher
/// started. Rank 0 prints one table (with --json, one object): good findings, costs of speed or
/// safety, missing parts, and advice. Measures for a few seconds. Returns 0, or the status that
/// training would end with because a part is missing.
int doctor(const CommandLine& line, int& argc, char**& argv);

/// Measures the rates that forecasts use, on all ranks that the launcher started, all at once. They
/// are memory, products of each type, copies, collectives and, with --nvme, a disk. A device build
/// measures each rank's device, beside the host's memory. Prints each figure and writes a machine
/// file for `plan --machine`. Takes about 15 seconds. Throws Error(kUsage) before measuring if the
/// file exists or the folder does not, and without a device.
int calibrate(const CommandLine& line, int& argc, char**& argv);

/// Prints the loss of a trained model on validation data, with the ranks that the launcher started.
/// Their number changes no digit. --scores writes a file of each sample's scores. The folder is a
/// run's, with its settings, or a model's. key=value add or change settings; those of training do
/// nothing here. Throws launch::Ended if a failure was printed already.
int eval(const CommandLine& line, int& argc, char**& argv);

/// Continues a prompt, or answers texts, with a trained model. The text streams to standard output,
/// one line about it goes to standard error. Ranks of a launcher each hold a shard of the weights
/// and share the texts out. Their number does not change the texts. Throws Error(kUsage) for
/// options that cannot act together. Throws Error(kInput) for a damaged model or one without a
/// tokenizer.
int generate(const CommandLine& line, int& argc, char**& argv);

/// Lists the checkpoints of a run or a folder, or one of them, and the one that a run goes on from,
/// with the reason. Throws Error(kInput) without such a folder.
int ls(const CommandLine& line);

/// Checks every digest of the checkpoints of a run or a folder, or of one of them. Names each
/// damaged file and block, and all else there, with its remedy. Throws Error(kInput) if some
/// checkpoints do not verify, Error(kNoCheckpoint) if none does.
int fsck(const CommandLine& line);

/// Shows the tensors of a checkpoint or a model folder with their statistics; with a second one,
/// their differences. Throws Error(kInput) for unreadable files.
int inspect(const CommandLine& line);

/// Writes the model of a checkpoint, of any rank count and stage, as a new model folder. Throws
/// Error(kInput) for a damaged checkpoint or a weight beyond the requested type. Throws Error(kIo)
/// if the folder exists or the disk is full.
int export_model(const CommandLine& line);

/// Makes a new folder of checkpoints with the weights of a model folder as step 0. Throws
/// Error(kInput) listing the first five tensors that do not fit. Throws Error(kIo) if the new
/// folder exists.
int import_weights(const CommandLine& line);

/// Compares texts with their references, line by line: corpus BLEU with its signature, and the
/// share of exact matches. Throws Error(kInput) naming file and line for text that is not UTF-8,
/// and for files of different lengths.
int score(const CommandLine& line);

/// Translates a DeepSpeed or Accelerate file. The input file goes to standard output or a new file,
/// a line for each key to standard error. Throws Error(kUsage), and writes no input file, if a key
/// is wrong, or unsupported and not to be left out. Throws Error(kIo) if it cannot write.
int import_deepspeed(const CommandLine& line);

}  // namespace zero::commands
