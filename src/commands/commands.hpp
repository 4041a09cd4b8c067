#pragma once
/// What was typed, as it is read, and a function for each command; it returns the exit status. Each
/// throws Error, where only this process knows, or launch::Ended, where all ranks do and one has
/// printed.

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
  int64_t threads = 0;         ///< plan: of each rank; 0 = as run.threads or the machine says
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
  int64_t first_line = 1;       ///< of `lines`, from which on texts are written
  bool ids = false;             ///< ids of tokens in place of texts
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

/// "0.1.0 (07f5208)": the release, and the commit that the build folder was configured at.
std::string version();

/// Trains as the input file says, together with the ranks that the launcher started. Throws
/// launch::Ended where a failure was printed already.
int train(const CommandLine& line, int& argc, char**& argv);

/// The same input, planned for the ranks that the launcher started; only the first prints.
int dry_run(CommandLine line);

/// Compiles the input for the ranks and the machine that are asked for and prints what it takes:
/// bytes, elements sent, time, and whether it fits. Needs no peers, data or device. Throws
/// Error(kDoesNotFit), naming the cheapest change under which it would fit, if it does not.
int plan(const CommandLine& line);

/// Shows the data of an input file, for --ranks ranks: files, formats, counts and the fingerprint,
/// and with --steps the samples of those steps, read as the trainer reads them. --decode adds their
/// text, --json prints one object of the counts or, with --steps, one a sample with all its tokens.
/// Needs no peers. Throws Error(kInput) where the data is damaged, as training would.
int data(const CommandLine& line);

/// Looks at everything outside of the program that training leans on, on every rank that the
/// launcher started. Prints one table (or, with --json, one object) from rank 0: what is good, what
/// costs speed or safety, what is missing, and what to do about it. Takes a few seconds, most of
/// them to measure. Returns 0, or, where something is missing that training needs, the status that
/// training would end with.
int doctor(const CommandLine& line, int& argc, char**& argv);

/// Measures what a plan's forecast computes with, on every rank that the launcher started, all at
/// the same time: memory, products of each type, copies, collectives and, with --nvme, a disk. A
/// build for devices measures those of each rank's device, beside the host's memory. Prints each
/// figure and writes a machine file for `plan --machine`. Takes about 15 seconds. Throws
/// Error(kUsage) for a file that is there already and a folder that is none, before anything is
/// measured, and where no device is.
int calibrate(const CommandLine& line, int& argc, char**& argv);

/// The loss of a trained model on validation data, together with the ranks that the launcher
/// started, whose number changes no digit. The folder is a run's, with its settings, or a model's;
/// key=value add or change settings, of which those of training act on nothing here. Throws
/// launch::Ended where a failure was printed already.
int eval(const CommandLine& line, int& argc, char**& argv);

/// Continues a prompt, or answers texts, with a trained model: the text streams to standard output,
/// one line about it goes to standard error. Ranks that a launcher started hold the weights
/// together, each a shard, and share the texts out; what they write does not depend on how many
/// they are. Throws Error(kUsage) for options that cannot act together, Error(kInput) for a damaged
/// model or one without a tokenizer.
int generate(const CommandLine& line, int& argc, char**& argv);

/// Lists the checkpoints of a run, of a folder, or one of them, and says which one a run goes on
/// from and why. Throws Error(kInput) where there is no such folder.
int ls(const CommandLine& line);

/// Checks every digest of the checkpoints of a run, of a folder, or of one of them, and names each
/// damaged file and block; and whatever else lies there, with what removes it. Throws Error(kInput)
/// if some of them do not verify, Error(kNoCheckpoint) if none does.
int fsck(const CommandLine& line);

/// Shows the tensors of a checkpoint or a model folder with their statistics; with a second one,
/// how they differ. Throws Error(kInput) for what cannot be read.
int inspect(const CommandLine& line);

/// Writes the model of a checkpoint, of any rank count and stage, as a new model folder. Throws
/// Error(kInput) for a damaged checkpoint or a weight that the type asked for cannot hold,
/// Error(kIo) if the folder is there already or the disk is full.
int export_model(const CommandLine& line);

/// Makes a new folder of checkpoints with the weights of a model folder as step 0. Throws
/// Error(kInput) that lists the first five tensors that do not fit, Error(kIo) if the new folder is
/// there already.
int import_weights(const CommandLine& line);

/// Compares texts with their references, line by line: corpus BLEU with its signature, and the
/// share of exact matches. Throws Error(kInput) naming file and line for what is no UTF-8, and for
/// files of different lengths.
int score(const CommandLine& line);

/// Translates a DeepSpeed or Accelerate file: the input file goes to standard output, or to a new
/// file, and a line for each key to standard error. Writes no input file and throws Error(kUsage)
/// if a key is wrong or, unless they are to be left out, unsupported; Error(kIo) if it cannot
/// write.
int import_deepspeed(const CommandLine& line);

}  // namespace zero::commands
